package api

import (
	"context"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/pkg/engine"
	"github.com/lockstep-io/lockstep/pkg/engine/mongostore"
)

const (
	tagTriggers  = "Triggers"
	triggersPath = gatewaysPath + "/{gatewayId}/triggers"
	triggerPath  = triggersPath + "/{name}"
)

type createTriggerInput struct {
	GatewayParams
	RepeatParams
	WaitParams
	Body newTrigger
}

type newTrigger struct {
	Name     string       `json:"name" maxLength:"40" doc:"Lower-case letters, digits and hyphens. It never changes."`
	Schedule string       `json:"schedule" maxLength:"100" doc:"A cron expression of five fields, or @hourly, @daily, @every 1h …"`
	TimeZone string       `json:"timeZone,omitempty" maxLength:"60" doc:"The IANA name of the schedule's zone; UTC if left out."`
	Function string       `json:"function" maxLength:"40" doc:"The name of the function to call."`
	State    engine.State `json:"state,omitempty" enum:"Active,Inactive" default:"Active" doc:"Inactive suspends the trigger."`
}

// Resolve checks what a schema cannot say.
func (in *newTrigger) Resolve(_ huma.Context, at *huma.PathBuffer) []error {
	c := complaints{at: at}
	c.check("name", in.Name, resource.ValidName(in.Name, resource.MaxChildName))
	c.check("schedule", in.Schedule, resource.ValidSchedule(in.Schedule))
	c.check("timeZone", in.TimeZone, resource.ValidTimeZone(in.TimeZone))
	c.check("function", in.Function, resource.ValidName(in.Function, resource.MaxChildName))
	return c.errs
}

// TriggerParams names a trigger.
type TriggerParams struct {
	GatewayParams
	NameParam
}

func (in *TriggerParams) id() string { return in.GatewayID + "-" + in.Name }

func (in *TriggerParams) location() string {
	return gatewayPath(in.GatewayID) + "/triggers/" + in.Name
}

func (in *TriggerParams) missing(err error) error {
	return missing(err, "gateway %s has no trigger %s", in.GatewayID, in.Name)
}

type getTriggerInput struct {
	TriggerParams
	WaitParams
}

type changeTriggerInput struct {
	TriggerParams
	MatchParams
	WaitParams
	Body triggerChange
}

type triggerChange struct {
	State    *engine.State `json:"state,omitempty" enum:"Active,Inactive" doc:"Inactive suspends the trigger. Active makes it follow its gateway: it is Inactive while that is stopped."`
	Schedule *string       `json:"schedule,omitempty" maxLength:"100"`
	TimeZone *string       `json:"timeZone,omitempty" maxLength:"60" doc:"Empty for UTC."`
	Function *string       `json:"function,omitempty" maxLength:"40"`
}

// Resolve checks what a schema cannot say.
func (in *triggerChange) Resolve(_ huma.Context, at *huma.PathBuffer) []error {
	c := complaints{at: at}
	if in.Schedule != nil {
		c.check("schedule", *in.Schedule, resource.ValidSchedule(*in.Schedule))
	}
	if in.TimeZone != nil {
		c.check("timeZone", *in.TimeZone, resource.ValidTimeZone(*in.TimeZone))
	}
	if in.Function != nil {
		c.check("function", *in.Function, resource.ValidName(*in.Function, resource.MaxChildName))
	}
	if in.State == nil && in.Schedule == nil && in.TimeZone == nil && in.Function == nil {
		c.nothing("state, schedule, timeZone or function")
	}
	return c.errs
}

// intent is the change as the store makes it, beneath a gateway.
func (in *triggerChange) intent(gw *resource.ApiGateway) mongostore.Intent {
	intent := mongostore.Intent{Fields: map[string]any{}}
	if in.State != nil {
		follow(&intent, gw, *in.State)
	}
	if in.Schedule != nil {
		intent.Fields["schedule"] = *in.Schedule
	}
	if in.TimeZone != nil {
		intent.Fields["timeZone"] = orNil(*in.TimeZone)
	}
	if in.Function != nil {
		intent.Fields["function"] = *in.Function
	}
	return intent
}

// orNil is the value, or nil if it is zero: such fields are absent.
func orNil[T comparable](v T) any {
	var zero T
	if v == zero {
		return nil
	}
	return v
}

type deleteTriggerInput struct {
	TriggerParams
	MatchParams
	WaitParams
}

type triggerOutput = documentOutput[*resource.CronTrigger]

func (a *api) triggerRoutes() {
	register(a, operation{
		method: http.MethodPost, path: triggersPath, id: "createTrigger", tag: tagTriggers, role: Editor,
		status: http.StatusCreated, summary: "Make a trigger", description: "It is Inactive while its gateway is stopped.",
	}, a.createTrigger)
	register(a, operation{
		method: http.MethodGet, path: triggersPath, id: "listTriggers", tag: tagTriggers, role: Viewer,
		summary: "List a gateway's triggers",
	}, a.listTriggers)
	register(a, operation{
		method: http.MethodGet, path: triggerPath, id: "getTrigger", tag: tagTriggers, role: Viewer,
		summary: "Read a trigger",
	}, a.getTrigger)
	register(a, operation{
		method: http.MethodPatch, path: triggerPath, id: "changeTrigger", tag: tagTriggers, role: Editor,
		status: http.StatusAccepted, summary: "Change a trigger, suspend it, or let it go on",
	}, a.changeTrigger)
	register(a, operation{
		method: http.MethodDelete, path: triggerPath, id: "deleteTrigger", tag: tagTriggers, role: Editor,
		status: http.StatusAccepted, summary: "Delete a trigger",
	}, a.deleteTrigger)
}

func (a *api) createTrigger(ctx context.Context, in *createTriggerInput) (*triggerOutput, error) {
	gw, err := a.livingGateway(ctx, in.GatewayID)
	if err != nil {
		return nil, err
	}
	if err := a.mustHaveFunction(ctx, gw.ID, "body.function", in.Body.Function); err != nil {
		return nil, err
	}
	at := TriggerParams{in.GatewayParams, NameParam{in.Body.Name}}
	trigger := &resource.CronTrigger{
		Meta:      engine.Meta{ID: at.id(), State: stateBeneath(gw, in.Body.State)},
		GatewayID: gw.ID, Region: gw.Region, Name: in.Body.Name,
		Schedule: in.Body.Schedule, TimeZone: in.Body.TimeZone, Function: in.Body.Function, Suspended: in.Body.State == resource.Inactive,
	}
	if trigger, err = a.triggers.insertChild(ctx, gw.ID, trigger); err != nil {
		return nil, err
	}
	trigger, err = a.triggers.stillWanted(ctx, gw.ID, trigger)
	if err != nil {
		return nil, err
	}
	return a.triggers.await(ctx, created(trigger, at.location()), in.WaitParams)
}

// mustHaveFunction refuses to refer to a function that is not there.
func (a *api) mustHaveFunction(ctx context.Context, gatewayID, location, name string) error {
	fn, err := a.functions.Get(ctx, functionID(gatewayID, name))
	if errors.Is(err, mongostore.ErrNotFound) || err == nil && fn.State == resource.Deleted {
		return noFunction(location, gatewayID, name)
	}
	return err
}

func (a *api) listTriggers(ctx context.Context, in *ChildrenParams) (*pageOutput[*resource.CronTrigger], error) {
	if _, err := a.gateway(ctx, in.GatewayID); err != nil {
		return nil, err
	}
	return a.triggers.list(ctx, in.PageParams, in.where())
}

func (a *api) getTrigger(ctx context.Context, in *getTriggerInput) (*triggerOutput, error) {
	if _, err := a.gateway(ctx, in.GatewayID); err != nil {
		return nil, err
	}
	trigger, err := a.triggers.Get(ctx, in.id())
	if err != nil {
		return nil, in.missing(err)
	}
	return a.triggers.await(ctx, found(trigger), in.WaitParams)
}

func (a *api) changeTrigger(ctx context.Context, in *changeTriggerInput) (*triggerOutput, error) {
	gw, err := a.livingGateway(ctx, in.GatewayID)
	if err != nil {
		return nil, err
	}
	if in.Body.Function != nil {
		if err := a.mustHaveFunction(ctx, gw.ID, "body.function", *in.Body.Function); err != nil {
			return nil, err
		}
	}
	intent := in.Body.intent(gw)
	intent.IfGeneration = in.generation()
	trigger, err := a.triggers.change(ctx, in.id(), intent)
	if err != nil {
		return nil, in.missing(err)
	}
	trigger, err = a.triggers.stillWanted(ctx, gw.ID, trigger)
	if err != nil {
		return nil, err
	}
	return a.triggers.await(ctx, accepted(trigger, in.location()), in.WaitParams)
}

func (a *api) deleteTrigger(ctx context.Context, in *deleteTriggerInput) (*triggerOutput, error) {
	if _, err := a.gateway(ctx, in.GatewayID); err != nil {
		return nil, err
	}
	trigger, err := a.triggers.remove(ctx, in.id(), in.MatchParams)
	if err != nil {
		return nil, in.missing(err)
	}
	return a.triggers.await(ctx, accepted(trigger, in.location()), in.WaitParams)
}
