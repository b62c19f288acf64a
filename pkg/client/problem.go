package client

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Problem is an error that the API answered with.
type Problem struct {
	Type   string         `json:"type"`
	Title  string         `json:"title"`
	Status int            `json:"status"`
	Code   string         `json:"code"`
	Detail string         `json:"detail"`
	Errors []FieldProblem `json:"errors,omitempty"`
	// RetryAfter is how long the server asks to wait before trying again.
	RetryAfter time.Duration `json:"-"`
	// Location is where the document is that was made although not all went
	// well, such as a wait that took too long.
	Location string `json:"-"`
}

// FieldProblem is what is wrong with one field or parameter.
type FieldProblem struct {
	// Location is such as "body.runtime.replicas" or "query.limit".
	Location string `json:"location,omitempty"`
	Message  string `json:"message,omitempty"`
	Value    any    `json:"value,omitempty"`
}

// Error implements error.
func (p *Problem) Error() string {
	said := []string{p.Detail}
	for _, e := range p.Errors {
		if text := strings.TrimPrefix(e.Location+": "+e.Message, ": "); !strings.Contains(p.Detail, text) {
			said = append(said, text)
		}
	}
	return fmt.Sprintf("%s (%d %s)", strings.Join(said, "; "), p.Status, p.Code)
}

// CodeOf returns the code of an error that the API answered with, and nothing
// for other errors.
func CodeOf(err error) string {
	var p *Problem
	if errors.As(err, &p) {
		return p.Code
	}
	return ""
}

// IsNotFound reports whether the API answered that there is no such document.
func IsNotFound(err error) bool { return CodeOf(err) == CodeNotFound }

// The codes of problems.
const (
	CodeInvalidRequest     = "invalid_request"
	CodeValidation         = "validation_failed"
	CodeUnauthenticated    = "unauthenticated"
	CodeForbidden          = "forbidden"
	CodeNotFound           = "not_found"
	CodeNoRoute            = "no_such_route"
	CodeMethodNotAllowed   = "method_not_allowed"
	CodeNotAcceptable      = "not_acceptable"
	CodeExists             = "exists"
	CodeDomainTaken        = "domain_taken"
	CodeGatewayDeleted     = "gateway_deleted"
	CodeConflict           = "conflict"
	CodeNotReady           = "not_ready"
	CodeInUse              = "in_use"
	CodePreconditionFailed = "precondition_failed"
	CodeTooLarge           = "too_large"
	CodeMediaType          = "unsupported_media_type"
	CodeRateLimited        = "rate_limited"
	CodeInternal           = "internal"
	CodeUnavailable        = "unavailable"
	CodeKeyReused          = "idempotency_key_reused"
	CodeInProgress         = "in_progress"
	CodeWaitTimeout        = "wait_timeout"
	CodeWaitHopeless       = "wait_hopeless"
)
