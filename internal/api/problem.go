package api

import (
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
)

// Code is a stable name of what went wrong, for programs. Codes are never
// renamed; see [Codes] for what they mean.
type Code string

// The codes.
const (
	CodeInvalidRequest     Code = "invalid_request"
	CodeValidation         Code = "validation_failed"
	CodeUnauthenticated    Code = "unauthenticated"
	CodeForbidden          Code = "forbidden"
	CodeNotFound           Code = "not_found"
	CodeNoRoute            Code = "no_such_route"
	CodeMethodNotAllowed   Code = "method_not_allowed"
	CodeNotAcceptable      Code = "not_acceptable"
	CodeExists             Code = "exists"
	CodeDomainTaken        Code = "domain_taken"
	CodeGatewayDeleted     Code = "gateway_deleted"
	CodeConflict           Code = "conflict"
	CodeNotReady           Code = "not_ready"
	CodeInUse              Code = "in_use"
	CodePreconditionFailed Code = "precondition_failed"
	CodeTooLarge           Code = "too_large"
	CodeMediaType          Code = "unsupported_media_type"
	CodeRateLimited        Code = "rate_limited"
	CodeInternal           Code = "internal"
	CodeUnavailable        Code = "unavailable"
	CodeKeyReused          Code = "idempotency_key_reused"
	CodeInProgress         Code = "in_progress"
	CodeWaitTimeout        Code = "wait_timeout"
	CodeWaitHopeless       Code = "wait_hopeless"
)

// CodeInfo documents a code.
type CodeInfo struct {
	Code   Code
	Status int
	Means  string
}

// Codes documents all codes.
var Codes = []CodeInfo{
	{CodeInvalidRequest, http.StatusBadRequest, "The request could not be read: its body is missing or is not JSON."},
	{CodeUnauthenticated, http.StatusUnauthorized, "The request has no token, or one that is not valid (any more)."},
	{CodeForbidden, http.StatusForbidden, "The caller's role does not allow it."},
	{CodeNotFound, http.StatusNotFound, "There is no such document, or it belongs to another tenant."},
	{CodeNoRoute, http.StatusNotFound, "The API has no such path."},
	{CodeMethodNotAllowed, http.StatusMethodNotAllowed, "The path does not have this method."},
	{CodeNotAcceptable, http.StatusNotAcceptable, "None of the media types that are accepted can be produced."},
	{CodeExists, http.StatusConflict, "A document of this name exists, or is still being deleted."},
	{CodeDomainTaken, http.StatusConflict, "The domain is bound by another gateway."},
	{CodeGatewayDeleted, http.StatusConflict, "The gateway is being deleted, which cannot be undone."},
	{CodeConflict, http.StatusConflict, "The document is not as the change requires."},
	{CodeNotReady, http.StatusConflict, "What is to be changed has not been made yet."},
	{CodeInProgress, http.StatusConflict, "A request with the same Idempotency-Key is being answered."},
	{CodeWaitHopeless, http.StatusConflict, "What is waited for will not come by itself; detail says why."},
	{CodeInUse, http.StatusConflict, "Others refer to what is to be deleted."},
	{CodePreconditionFailed, http.StatusPreconditionFailed, "The document has changed since the ETag in If-Match was given."},
	{CodeTooLarge, http.StatusRequestEntityTooLarge, "The body is larger than the route allows."},
	{CodeMediaType, http.StatusUnsupportedMediaType, "The body is not application/json."},
	{CodeValidation, http.StatusUnprocessableEntity, "Fields or parameters have wrong values; errors names each, and the fix."},
	{CodeKeyReused, http.StatusUnprocessableEntity, "The Idempotency-Key was used for another request."},
	{CodeRateLimited, http.StatusTooManyRequests, "The caller has made too many requests; Retry-After says when to go on."},
	{CodeInternal, http.StatusInternalServerError, "A fault of the service; the request's id finds it in the log."},
	{CodeUnavailable, http.StatusServiceUnavailable, "The database, or what else the answer needs, cannot be reached; the same request may be made again after Retry-After."},
	{CodeWaitTimeout, http.StatusGatewayTimeout, "What was waited for has not come in time; a change that was asked for stands."},
}

// Problem is every error's body (RFC 9457, application/problem+json).
type Problem struct {
	Type   string              `json:"type" doc:"A reference to the code's documentation."`
	Title  string              `json:"title" doc:"The HTTP status in words."`
	Status int                 `json:"status" doc:"The HTTP status."`
	Code   Code                `json:"code" doc:"A stable name of what went wrong, for programs."`
	Detail string              `json:"detail" doc:"What went wrong this time, and how to put it right."`
	Errors []*huma.ErrorDetail `json:"errors,omitempty" nullable:"false" doc:"What is wrong with single fields or parameters, by location."`

	headers http.Header
	cause   error
}

// Error implements error.
func (p *Problem) Error() string { return p.Detail }

// GetStatus implements [huma.StatusError].
func (p *Problem) GetStatus() int { return p.Status }

// GetHeaders implements [huma.HeadersError].
func (p *Problem) GetHeaders() http.Header { return p.headers }

// ContentType implements [huma.ContentTypeFilter].
func (*Problem) ContentType(string) string { return "application/problem+json" }

// fail makes a problem of a code.
func fail(code Code, format string, args ...any) *Problem {
	status := http.StatusInternalServerError
	for _, info := range Codes {
		if info.Code == code {
			status = info.Status
		}
	}
	return &Problem{
		Type: "/docs#" + string(code), Title: http.StatusText(status), Status: status,
		Code: code, Detail: fmt.Sprintf(format, args...),
	}
}

// Unauthenticated says that a request's token is not accepted, and why.
func Unauthenticated(detail string) *Problem {
	p := fail(CodeUnauthenticated, "%s", detail)
	p.headers = http.Header{"Www-Authenticate": {`Bearer realm="lockstep"`}}
	return p
}

// Unavailable says that something that is needed to answer cannot be reached.
// The cause is logged and not shown.
func Unavailable(detail string, cause error) *Problem {
	p := fail(CodeUnavailable, "%s: repeat the request in %s seconds", detail, retrySeconds).retryAfter(retrySeconds)
	p.cause = cause
	return p
}

// with adds what is wrong at a location.
func (p *Problem) with(location string, value any, format string, args ...any) *Problem {
	p.Errors = append(p.Errors, &huma.ErrorDetail{Location: location, Value: value, Message: fmt.Sprintf(format, args...)})
	return p
}

// at says where the document is that the problem is about.
func (p *Problem) at(location string) *Problem {
	if location != "" {
		p.headers = http.Header{"Location": {location}}
	}
	return p
}

// retryAfter says when to try again.
func (p *Problem) retryAfter(seconds string) *Problem {
	p.headers = http.Header{"Retry-After": {seconds}}
	return p
}

// invalid is the problem of one wrong field.
func invalid(location string, value any, format string, args ...any) *Problem {
	p := fail(CodeValidation, format, args...)
	return p.with(location, value, format, args...)
}
