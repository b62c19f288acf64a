package api

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"go.uber.org/zap"

	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/pkg/engine"
	"github.com/lockstep-io/lockstep/pkg/engine/mongostore"
)

// The verbs by which administrators step in where the task services are stuck.
// Each is noted on the document with its reason. They write the intent and the
// lock, never the phase.

// pausedBy begins the name of the holder of a paused document: a pause is a
// lock that a person holds until they give it back.
const pausedBy = "paused by "

// IsPaused is the condition of a document that an administrator has paused.
const IsPaused engine.Condition = "paused"

func paused(m *engine.Meta) bool {
	return strings.HasPrefix(m.LockedBy, pausedBy) && !m.LockedAt.Before(engine.Never)
}

type verbInput struct {
	DocumentParams
	RepeatParams
	Body reason
}

type reason struct {
	Reason string `json:"reason" minLength:"3" maxLength:"500" doc:"Why; it is noted on the document."`
}

type removeOrphanInput struct {
	DocumentParams
	Reason string `query:"reason" required:"true" minLength:"3" maxLength:"500" doc:"Why; it is noted on the document and in the log."`
}

func (a *api) verbRoutes() {
	verb := func(name, id, summary, description string, do func(context.Context, *target, string) (*resource.Header, error)) {
		register(a, operation{
			method: http.MethodPost, path: documentsPath + "/{id}/" + name, id: id, tag: tagDocuments, role: Admin,
			status: http.StatusAccepted, summary: summary, description: description,
		}, func(ctx context.Context, in *verbInput) (*documentOutput[*Document], error) {
			return a.verb(ctx, in, do)
		})
	}
	verb("retry", "retryDocument", "Have a document tried again at once",
		"Clears its errors and its backoff, terminal ones too.", a.retry)
	verb("unlock", "unlockDocument", "Take a document from the replica that holds it",
		"Whatever that replica still writes to the document is refused. Locks end by themselves; this is for those who cannot wait.", a.unlock)
	verb("pause", "pauseDocument", "Keep a document from being worked on",
		"Until it is resumed, whatever becomes of its state.", a.pause)
	verb("resume", "resumeDocument", "Let a paused document go on", "", a.resume)
	register(a, operation{
		method: http.MethodPost, path: documentsPath + "/{id}/force-delete", id: "forceDeleteDocument", tag: tagDocuments, role: Admin,
		status: http.StatusAccepted, summary: "Go on with a deletion without a step that cannot be done any more",
		description: "For a document that is being deleted, and whose step has nothing left to act on: a cluster or a database that is gone for good. " +
			"What the step would have removed is left behind.",
	}, a.forceDelete)
	register(a, operation{
		method: http.MethodDelete, path: documentsPath + "/{id}", id: "removeOrphan", tag: tagDocuments, role: Admin,
		status: http.StatusAccepted, summary: "Remove a document whose gateway is gone",
		description: "A document with a task service is set to be deleted, and goes once all that belongs to it is gone; " +
			"one without goes at once. Refused while its gateway exists.",
	}, a.removeOrphan)
}

// target is the document that a verb is used on.
type target struct {
	kind   resource.Kind
	id     string
	store  *mongostore.Store[*resource.Header]
	before *Document
}

func (a *api) target(ctx context.Context, in DocumentParams) (*target, error) {
	doc, _, err := a.document(ctx, &in)
	if err != nil {
		return nil, err
	}
	store, err := a.docs.Headers(in.Kind)
	if err != nil {
		return nil, err
	}
	return &target{kind: in.Kind, id: in.ID, store: store, before: doc}, nil
}

// driven refuses what has no task service.
func (a *api) driven(t *target) error {
	if a.Explain[t.kind] == nil {
		return fail(CodeConflict, "%s has no task service: its gateway's steps move it; use this on ApiGateway %s", t.kind, t.before.GatewayID)
	}
	return nil
}

func (a *api) verb(
	ctx context.Context, in *verbInput, do func(context.Context, *target, string) (*resource.Header, error),
) (*documentOutput[*Document], error) {
	t, err := a.target(ctx, in.DocumentParams)
	if err != nil {
		return nil, err
	}
	if err := a.driven(t); err != nil {
		return nil, err
	}
	h, err := do(ctx, t, in.Body.Reason)
	if err != nil {
		return nil, err
	}
	return a.acted(ctx, t, h)
}

// acted answers with the document as a verb has left it.
func (a *api) acted(ctx context.Context, t *target, h *resource.Header) (*documentOutput[*Document], error) {
	a.docs.Hint(t.kind, t.id)
	now, err := t.store.Now(ctx)
	if err != nil {
		return nil, err
	}
	doc, _, err := a.described(ctx, t.kind, h, now)
	if err != nil {
		return nil, err
	}
	return accepted(doc, "/v1/documents/"+string(t.kind)+"/"+t.id), nil
}

// retry raises the generation: an intent that is new waits out nothing.
func (a *api) retry(ctx context.Context, t *target, reason string) (*resource.Header, error) {
	if paused(&t.before.Meta) {
		return nil, fail(CodeConflict, "%s %s is %s: resume it first", t.kind, t.id, t.before.LockedBy)
	}
	return t.store.SetIntent(ctx, t.id, mongostore.Intent{Append: note(ctx, mongostore.Intent{}, reason)})
}

func (a *api) unlock(ctx context.Context, t *target, reason string) (*resource.Header, error) {
	if paused(&t.before.Meta) {
		return nil, fail(CodeConflict, "%s %s is %s: resume it", t.kind, t.id, t.before.LockedBy)
	}
	return t.store.Unlock(ctx, t.id, note(ctx, mongostore.Intent{}, reason))
}

func (a *api) pause(ctx context.Context, t *target, reason string) (*resource.Header, error) {
	return t.store.Hold(ctx, t.id, pausedBy+callerOf(ctx).Name, note(ctx, mongostore.Intent{}, reason))
}

func (a *api) resume(ctx context.Context, t *target, reason string) (*resource.Header, error) {
	if !paused(&t.before.Meta) {
		return nil, fail(CodeConflict, "%s %s is not paused", t.kind, t.id)
	}
	return t.store.Unlock(ctx, t.id, note(ctx, mongostore.Intent{}, reason))
}

func (a *api) removeOrphan(ctx context.Context, in *removeOrphanInput) (*documentOutput[*Document], error) {
	t, err := a.target(ctx, in.DocumentParams)
	if err != nil {
		return nil, err
	}
	_, err = a.gateways.Get(ctx, t.before.GatewayID)
	switch {
	case err == nil:
		return nil, fail(CodeConflict, "%s %s is no orphan: its gateway %s exists; delete the gateway, or the document beneath it",
			t.kind, t.id, t.before.GatewayID)
	case !errors.Is(err, mongostore.ErrNotFound):
		return nil, err
	}
	if a.Explain[t.kind] == nil {
		a.log.Info("orphan removed", zap.String("kind", string(t.kind)), zap.String("id", t.id),
			zap.String("by", callerOf(ctx).Name), zap.String("reason", in.Reason))
		return accepted(t.before, ""), t.store.DeleteMany(ctx, map[string]any{"_id": t.id})
	}
	deleted := mongostore.Intent{State: resource.Deleted}
	deleted.Append = note(ctx, deleted, in.Reason)
	h, err := t.store.SetIntent(ctx, t.id, deleted)
	if err != nil {
		return nil, err
	}
	a.docs.Hint(t.kind, t.id)
	t.before.Header = *h
	return accepted(t.before, "/v1/documents/"+string(t.kind)+"/"+t.id), nil
}
