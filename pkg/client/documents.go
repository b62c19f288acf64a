package client

import (
	"strconv"
	"time"

	"github.com/lockstep-io/lockstep/pkg/engine"
)

// States.
const (
	Running    engine.State = "Running"
	Stopped    engine.State = "Stopped"
	Restarting engine.State = "Restarting"
	Active     engine.State = "Active"
	Inactive   engine.State = "Inactive"
	Deleted    engine.State = "Deleted"
)

// Base is what the documents of all kinds have.
type Base struct {
	engine.Meta

	GatewayID string       `json:"gatewayId"`
	Audit     []AuditEntry `json:"audit,omitempty"`
	// SkippedSteps are the steps of its deletion that an administrator has had
	// skipped.
	SkippedSteps []string `json:"skippedSteps,omitempty"`
}

// ETag is the document's, for [IfMatch].
func (b *Base) ETag() string { return `"` + strconv.FormatInt(b.Generation, 10) + `"` }

// AuditEntry says who asked what of a document, and when.
type AuditEntry struct {
	At        time.Time    `json:"at"`
	By        string       `json:"by"`
	Action    string       `json:"action"`
	State     engine.State `json:"state,omitempty"`
	Fields    []string     `json:"fields,omitempty"`
	Reason    string       `json:"reason,omitempty"`
	RequestID string       `json:"requestId,omitempty"`
}

// Gateway is an API gateway.
type Gateway struct {
	Base

	Name     string  `json:"name"`
	Tenant   string  `json:"tenant,omitempty"`
	Region   string  `json:"region"`
	Runtime  Runtime `json:"runtime"`
	Revision int64   `json:"revision,omitempty"`
}

// Runtime is what a gateway's instance runs. Empty fields are the region's
// defaults.
type Runtime struct {
	Image    string            `json:"image,omitempty"`
	Replicas int32             `json:"replicas,omitempty"`
	Env      map[string]string `json:"env,omitempty"`
	CPU      string            `json:"cpu,omitempty"`
	Memory   string            `json:"memory,omitempty"`
}

// RuntimeDomain is where a gateway is reached.
type RuntimeDomain struct {
	Base

	Region string `json:"region"`
	// CustomDomain is bound, CustomDomainReady is served.
	CustomDomain      string `json:"customDomain,omitempty"`
	CustomDomainReady string `json:"customDomainReady,omitempty"`
}

// Database is a gateway's own database.
type Database struct {
	Base

	Region string `json:"region"`
	Name   string `json:"name"`
	User   string `json:"user"`
}

// Environment is one of a gateway's environments.
type Environment struct {
	Base

	Name string `json:"name"`
	Host string `json:"host"`
}

// ClientApp is an API consumer of one environment. A new key is in place once
// KeyRevisionReady has reached KeyRevision.
type ClientApp struct {
	Base

	Region           string `json:"region"`
	Environment      string `json:"environment"`
	Name             string `json:"name"`
	KeyRevision      int64  `json:"keyRevision,omitempty"`
	KeyRevisionReady int64  `json:"keyRevisionReady,omitempty"`
}

// Function is code that stages publish. Lists leave the code out.
type Function struct {
	Base

	Region  string `json:"region"`
	Name    string `json:"name"`
	Runtime string `json:"runtime"`
	Code    string `json:"code"`
	Version int64  `json:"version"`
}

// FunctionVersion is one version of a function. Lists leave the code out.
type FunctionVersion struct {
	Version int64     `json:"version"`
	Runtime string    `json:"runtime"`
	Code    string    `json:"code,omitempty"`
	Bytes   int       `json:"bytes"`
	Current bool      `json:"current"`
	Until   time.Time `json:"until,omitzero"`
}

// Stage is what is published to an environment. It is published once
// PublishedGeneration has reached Generation.
type Stage struct {
	Base

	Region              string  `json:"region"`
	Environment         string  `json:"environment"`
	Routes              []Route `json:"routes,omitempty"`
	Suspended           bool    `json:"suspended,omitempty"`
	PublishedGeneration int64   `json:"publishedGeneration,omitempty"`
}

// Route leads requests of a path and methods to a function.
type Route struct {
	Path     string   `json:"path"`
	Methods  []string `json:"methods,omitempty"`
	Function string   `json:"function"`
}

// Trigger calls a function on a schedule.
type Trigger struct {
	Base

	Region    string `json:"region"`
	Name      string `json:"name"`
	Schedule  string `json:"schedule"`
	TimeZone  string `json:"timeZone,omitempty"`
	Function  string `json:"function"`
	Suspended bool   `json:"suspended,omitempty"`
}

// Document is what the documents of all kinds have, and how it stands with it.
type Document struct {
	Base

	Condition engine.Condition `json:"condition"`
	Summary   string           `json:"summary"`
}
