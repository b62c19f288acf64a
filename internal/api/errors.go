package api

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"go.uber.org/zap"

	"github.com/lockstep-io/lockstep/pkg/engine/mongostore"
)

// retrySeconds is how long a client should wait while the database is away.
const retrySeconds = "5"

// problem is the border: it turns every error of a handler into a problem, and
// logs those that are the service's fault. Nothing of an internal error is
// shown to the caller.
func (a *api) problem(ctx context.Context, operation string, err error) *Problem {
	var p *Problem
	switch {
	case errors.As(err, &p):
		if p.cause != nil {
			a.log.Warn("cannot answer", zap.String("operation", operation), zap.Error(p.cause))
		}
		return p
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		return fail(CodeUnavailable, "the request was given up before it was answered").retryAfter(retrySeconds)
	case mongostore.IsUnavailable(err):
		a.log.Warn("database unavailable", zap.String("operation", operation), zap.Error(err))
		return unavailable()
	case errors.Is(err, mongostore.ErrNotFound):
		return fail(CodeNotFound, "there is no such document")
	case errors.Is(err, mongostore.ErrExists):
		return fail(CodeExists, "a document of this name exists already")
	case errors.Is(err, mongostore.ErrConflict):
		return fail(CodeConflict, "the document has changed meanwhile: read it again and repeat the change")
	}
	a.log.Error("request failed", zap.String("operation", operation), zap.Error(err))
	return fail(CodeInternal, "the service failed; its log says why")
}

func unavailable() *Problem {
	return fail(CodeUnavailable, "the database cannot be reached: nothing is lost, repeat the request in %s seconds", retrySeconds).
		retryAfter(retrySeconds)
}

// codeOfStatus are the codes of errors that huma finds before a handler runs.
var codeOfStatus = map[int]Code{
	http.StatusBadRequest:            CodeInvalidRequest,
	http.StatusUnauthorized:          CodeUnauthenticated,
	http.StatusForbidden:             CodeForbidden,
	http.StatusNotFound:              CodeNotFound,
	http.StatusNotAcceptable:         CodeNotAcceptable,
	http.StatusRequestTimeout:        CodeInvalidRequest,
	http.StatusRequestEntityTooLarge: CodeTooLarge,
	http.StatusUnsupportedMediaType:  CodeMediaType,
	http.StatusUnprocessableEntity:   CodeValidation,
}

// useProblems makes huma's own errors problems too. Its hook is a variable of
// the package, so this is done once.
var useProblems = sync.OnceFunc(func() {
	huma.ValidateStrictCasing = true
	huma.NewError = func(status int, message string, errs ...error) huma.StatusError {
		code, known := codeOfStatus[status]
		if !known {
			return fail(CodeInternal, "the service failed; its log says why")
		}
		p := fail(code, "%s", message)
		p.Status, p.Title = status, http.StatusText(status)
		for _, err := range errs {
			var detailer huma.ErrorDetailer
			switch {
			case err == nil:
			case errors.As(err, &detailer):
				p.Errors = append(p.Errors, detailer.ErrorDetail())
			default:
				p.Errors = append(p.Errors, &huma.ErrorDetail{Message: err.Error()})
			}
		}
		if code == CodeInvalidRequest || code == CodeMediaType {
			p.Errors = p.Errors[:min(len(p.Errors), 1)] // what else seems wrong is that the body could not be read
		}
		if code == CodeMediaType {
			p.Detail = "the body is not JSON by its header: send Content-Type: application/json"
		} else if len(p.Errors) > 0 {
			p.Detail += ": " + summary(p.Errors[0])
		}
		return p
	}
})

func summary(e *huma.ErrorDetail) string {
	if e.Location == "" {
		return e.Message
	}
	return e.Location + ": " + e.Message
}
