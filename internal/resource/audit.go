package resource

import (
	"slices"
	"time"

	"github.com/lockstep-io/lockstep/pkg/engine"
)

// AuditField is where a document keeps its audit, AuditLimit how many entries
// of it, the latest.
const (
	AuditField = "audit"
	AuditLimit = 30
)

// AuditEntry says who asked what of a document, and when. It is written
// together with what was asked. What task services do is in the history.
type AuditEntry struct {
	At time.Time `bson:"at" json:"at"`
	// By is the caller's name, Action the API's operation.
	By     string `bson:"by" json:"by"`
	Action string `bson:"action" json:"action"`
	// State is the state that was set, Fields the settings that were.
	State     engine.State `bson:"state,omitempty" json:"state,omitempty"`
	Fields    []string     `bson:"fields,omitempty" json:"fields,omitempty"`
	Reason    string       `bson:"reason,omitempty" json:"reason,omitempty"`
	RequestID string       `bson:"requestId,omitempty" json:"requestId,omitempty"`
}

// Audited is embedded by documents of which users ask things.
type Audited struct {
	Audit []AuditEntry `bson:"audit,omitempty" json:"audit,omitempty"`
	// SkippedSteps are the steps of its deletion that an administrator has had
	// skipped, because they cannot be done any more.
	SkippedSteps []string `bson:"skippedSteps,omitempty" json:"skippedSteps,omitempty"`
}

// SkippedField is where a document keeps its skipped steps.
const SkippedField = "skippedSteps"

// Skips reports whether a step of the document's deletion is to be skipped.
func (a *Audited) Skips(step string) bool { return slices.Contains(a.SkippedSteps, step) }

// Note adds an entry to a document that has not been stored yet.
func (a *Audited) Note(e AuditEntry) { a.Audit = append(a.Audit, e) }
