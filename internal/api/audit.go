package api

import (
	"context"
	"time"

	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/pkg/engine/mongostore"
)

// requestInfo is what is known of a request beyond its input.
type requestInfo struct {
	id        string // the request's
	operation string
	caller    Caller
}

type requestKey struct{}

// infoOf returns what is known of the request.
func infoOf(ctx context.Context) requestInfo {
	info, _ := ctx.Value(requestKey{}).(requestInfo)
	return info
}

func withInfo(ctx context.Context, info requestInfo) context.Context {
	return context.WithValue(ctx, requestKey{}, info)
}

// callerOf returns who makes the request.
func callerOf(ctx context.Context) Caller { return infoOf(ctx).caller }

// entry is the audit of a change that the request makes.
func entry(ctx context.Context, at time.Time, intent mongostore.Intent, reason string) resource.AuditEntry {
	info := infoOf(ctx)
	return resource.AuditEntry{
		At: at, By: info.caller.Name, Action: info.operation, State: intent.State,
		Fields: sortedKeys(intent.Fields), Reason: reason, RequestID: info.id,
	}
}

// note has an entry written together with a change.
func note(e resource.AuditEntry) *mongostore.Append {
	return &mongostore.Append{Field: resource.AuditField, Value: e, Keep: resource.AuditLimit}
}
