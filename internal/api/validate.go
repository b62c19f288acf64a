package api

import (
	"errors"
	"sort"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lockstep-io/lockstep/internal/resource"
)

// complaints collects what is wrong with a body, field by field.
type complaints struct {
	at   *huma.PathBuffer
	errs []error
}

// check notes what is wrong with a field, if anything is.
func (c *complaints) check(field string, value any, err error) {
	if err != nil {
		c.errs = append(c.errs, &huma.ErrorDetail{Location: c.at.With(field), Value: value, Message: err.Error()})
	}
}

// nothing notes that a change changes nothing.
func (c *complaints) nothing(fields string) {
	c.errs = append(c.errs, &huma.ErrorDetail{Location: c.at.String(), Message: "nothing to change: give " + fields})
}

// runtimeInput is what the instance is to run, in requests: fields left out
// stay as they are, empty ones go back to the region's defaults.
type runtimeInput struct {
	Image    *string           `json:"image,omitempty" maxLength:"512" doc:"The runtime's image; empty for the region's."`
	Replicas *int32            `json:"replicas,omitempty" minimum:"1" maximum:"50"`
	Env      map[string]string `json:"env,omitempty" doc:"Variables of the runtime, all of them: those left out are removed."`
	CPU      *string           `json:"cpu,omitempty" maxLength:"32" doc:"Requested by each pod, such as 500m; empty for the default."`
	Memory   *string           `json:"memory,omitempty" maxLength:"32" doc:"Requested by each pod, such as 256Mi; empty for the default."`
}

// Resolve checks what a schema cannot say.
func (in *runtimeInput) Resolve(_ huma.Context, at *huma.PathBuffer) []error {
	c := complaints{at: at}
	if in.Image != nil && *in.Image != "" {
		c.check("image", *in.Image, resource.ValidImage(*in.Image))
	}
	if in.CPU != nil && *in.CPU != "" {
		c.check("cpu", *in.CPU, resource.ValidQuantity(*in.CPU))
	}
	if in.Memory != nil && *in.Memory != "" {
		c.check("memory", *in.Memory, resource.ValidQuantity(*in.Memory))
	}
	c.check("env", len(in.Env), resource.ValidEnvCount(len(in.Env)))
	for _, name := range sortedKeys(in.Env) {
		c.check("env."+name, in.Env[name], resource.ValidEnv(name, in.Env[name]))
	}
	return c.errs
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}

// runtime is that of a new gateway.
func (in *runtimeInput) runtime() resource.Runtime {
	var r resource.Runtime
	assign(&r.Image, in.Image)
	assign(&r.Replicas, in.Replicas)
	assign(&r.CPU, in.CPU)
	assign(&r.Memory, in.Memory)
	r.Env = in.Env
	return r
}

func assign[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}

// change adds the fields that are given to a change.
func (in *runtimeInput) change(fields map[string]any) {
	text := func(name string, value *string) {
		switch {
		case value == nil:
		case *value == "":
			fields["runtime."+name] = nil
		default:
			fields["runtime."+name] = *value
		}
	}
	text("image", in.Image)
	text("cpu", in.CPU)
	text("memory", in.Memory)
	if in.Replicas != nil {
		fields["runtime.replicas"] = *in.Replicas
	}
	if in.Env != nil {
		fields["runtime.env"] = in.Env
	}
}

// empty reports whether nothing is to change.
func (in *runtimeInput) empty() bool {
	return in.Image == nil && in.Replicas == nil && in.Env == nil && in.CPU == nil && in.Memory == nil
}

var errTwice = errors.New("an earlier route serves the same path and method: leave one out")

func itoa(i int) string { return strconv.Itoa(i) }
