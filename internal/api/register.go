package api

import (
	"context"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

const bearer = "bearer"

// operation is one route.
type operation struct {
	method, path string
	// id is the operation's name for programs, summary its one line for people.
	id, summary string
	description string
	tag         string
	role        Role
	// status is that of success; 200 if zero.
	status int
}

// register adds a route: who may use it, which errors it can answer with, its
// timeout, and the border that its errors cross.
func register[I, O any](a *api, op operation, handle func(context.Context, *I) (*O, error)) {
	h := huma.Operation{
		OperationID: op.id, Method: op.method, Path: op.path, Summary: op.summary, Description: op.description,
		Tags: []string{op.tag}, DefaultStatus: op.status, Errors: op.errors(),
		MaxBodyBytes: maxBody, BodyReadTimeout: -1, // hurry bounds it: a bound of huma's outlasts the body
	}
	if _, ok := any(new(I)).(conditional); ok {
		h.Errors = append(h.Errors, http.StatusPreconditionFailed)
	}
	if _, ok := any(new(I)).(patient); ok {
		h.Errors = append(h.Errors, http.StatusGatewayTimeout, http.StatusConflict)
		h.Responses = map[string]*huma.Response{"204": {Description: "What was waited for is that it is gone, and it is."}}
		if op.status != 0 && op.status != http.StatusOK {
			h.Responses["200"] = a.reachedResponse(reflect.TypeFor[O]())
		}
	}
	if op.role > Anyone {
		h.Security = []map[string][]string{{bearer: {}}}
		h.Extensions = map[string]any{"x-role": op.role.String()}
		h.Middlewares = huma.Middlewares{a.authorize(op.role)}
	}
	huma.Register(a.huma, h, func(ctx context.Context, in *I) (*O, error) {
		ctx, cancel := context.WithTimeout(ctx, a.Timeout+extraTime(in))
		defer cancel()
		info := infoOf(ctx)
		info.operation = op.id
		ctx = withInfo(ctx, info)
		out, err := handle(ctx, in)
		if err != nil {
			return nil, a.problem(ctx, h.OperationID, err)
		}
		return out, nil
	})
}

// conditional inputs have an If-Match.
type conditional interface{ generation() *int64 }

// reachedResponse describes an answer after a wait: the document as it is then.
func (a *api) reachedResponse(output reflect.Type) *huma.Response {
	body, _ := output.FieldByName("Body")
	return &huma.Response{
		Description: "What was waited for has come.",
		Content:     map[string]*huma.MediaType{"application/json": {Schema: a.huma.OpenAPI().Components.Schemas.Schema(body.Type, true, "")}},
	}
}

// patient inputs ask for more time than a request has.
type patient interface{ extra() time.Duration }

func extraTime(in any) time.Duration {
	if p, ok := in.(patient); ok {
		return p.extra()
	}
	return 0
}

// errors are the statuses, beyond those of success, that the route can have.
func (op operation) errors() []int {
	codes := []int{http.StatusUnprocessableEntity, http.StatusServiceUnavailable}
	if op.role > Anyone {
		codes = append(codes, http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests)
	}
	if strings.Contains(op.path, "{") {
		codes = append(codes, http.StatusNotFound)
	}
	switch op.method {
	case http.MethodPost, http.MethodPut, http.MethodPatch:
		codes = append(codes, http.StatusBadRequest, http.StatusConflict,
			http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType)
	case http.MethodDelete:
		codes = append(codes, http.StatusConflict)
	}
	return codes
}
