package api

import (
	"context"

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
func entry(ctx context.Context, intent mongostore.Intent, reason string) resource.AuditEntry {
	info := infoOf(ctx)
	return resource.AuditEntry{
		By: info.caller.Name, Action: info.operation, State: intent.State,
		Fields: sortedKeys(intent.Fields), Reason: reason, RequestID: info.id,
	}
}

// note has the audit of a change written together with it, at the database's
// time.
func note(ctx context.Context, intent mongostore.Intent, reason string) *mongostore.Append {
	return &mongostore.Append{Field: resource.AuditField, Value: entry(ctx, intent, reason), Keep: resource.AuditLimit}
}
