package client

import "github.com/lockstep-io/lockstep/pkg/engine"

// Ptr returns a pointer to a value, for the fields of changes.
func Ptr[T any](v T) *T { return &v }

// NewGateway describes a gateway to make.
type NewGateway struct {
	Name   string `json:"name"`
	Region string `json:"region"`
	// State is Running unless it is Stopped.
	State   engine.State  `json:"state,omitempty"`
	Runtime RuntimeChange `json:"runtime,omitzero"`
	// Tenant owns it; only operators may name another than their own.
	Tenant string `json:"tenant,omitempty"`
}

// Adoption is a gateway whose document is lost: what it should be, and why it is
// taken up again.
type Adoption struct {
	NewGateway

	Reason string `json:"reason"`
}

// GatewayChange is what is to change of a gateway; nil fields stay as they are.
type GatewayChange struct {
	State   *engine.State  `json:"state,omitempty"`
	Name    *string        `json:"name,omitempty"`
	Runtime *RuntimeChange `json:"runtime,omitempty"`
}

// RuntimeChange is what is to change of a runtime; nil fields stay as they
// are, empty ones go back to the region's defaults. Env is given as a whole.
type RuntimeChange struct {
	Image    *string           `json:"image,omitempty"`
	Replicas *int32            `json:"replicas,omitempty"`
	Env      map[string]string `json:"env,omitzero"`
	CPU      *string           `json:"cpu,omitempty"`
	Memory   *string           `json:"memory,omitempty"`
}

// NewClientApp describes a client app to make.
type NewClientApp struct {
	Environment string       `json:"environment"`
	Name        string       `json:"name"`
	State       engine.State `json:"state,omitempty"`
}

// NewFunction describes a function to make; it is in JavaScript unless Runtime
// says otherwise.
type NewFunction struct {
	Name    string `json:"name"`
	Runtime string `json:"runtime,omitempty"`
	Code    string `json:"code"`
}

// FunctionChange is the next version of a function; nil fields stay.
type FunctionChange struct {
	Code    *string `json:"code,omitempty"`
	Runtime *string `json:"runtime,omitempty"`
}

// StageChange is what is to change of a stage; nil fields stay.
type StageChange struct {
	// State Inactive suspends the stage; Active has it follow its gateway.
	State  *engine.State `json:"state,omitempty"`
	Routes *[]Route      `json:"routes,omitempty"`
}

// NewTrigger describes a trigger to make.
type NewTrigger struct {
	Name     string       `json:"name"`
	Schedule string       `json:"schedule"`
	TimeZone string       `json:"timeZone,omitempty"`
	Function string       `json:"function"`
	State    engine.State `json:"state,omitempty"`
}

// TriggerChange is what is to change of a trigger; nil fields stay.
type TriggerChange struct {
	// State Inactive suspends the trigger; Active has it follow its gateway.
	State    *engine.State `json:"state,omitempty"`
	Schedule *string       `json:"schedule,omitempty"`
	TimeZone *string       `json:"timeZone,omitempty"`
	Function *string       `json:"function,omitempty"`
}
