package resource

import (
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
}

// Note adds an entry to a document that has not been stored yet.
func (a *Audited) Note(e AuditEntry) { a.Audit = append(a.Audit, e) }
