package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/pkg/engine"
	"github.com/lockstep-io/lockstep/pkg/engine/mongostore"
)

// documentOutput answers with one document.
type documentOutput[D any] struct {
	Status   int
	ETag     string `header:"ETag" doc:"The document's generation, for If-Match."`
	Location string `header:"Location" doc:"Where the document is."`
	Body     D
}

// found answers a read.
func found[D engine.Document](doc D) *documentOutput[D] {
	return &documentOutput[D]{Status: http.StatusOK, ETag: etag(doc), Body: doc}
}

// created answers the making of a document, which task services now bring
// about.
func created[D engine.Document](doc D, path string) *documentOutput[D] {
	return &documentOutput[D]{Status: http.StatusCreated, ETag: etag(doc), Location: path, Body: doc}
}

// accepted answers a change of intent.
func accepted[D engine.Document](doc D, path string) *documentOutput[D] {
	return &documentOutput[D]{Status: http.StatusAccepted, ETag: etag(doc), Location: path, Body: doc}
}

func etag(doc engine.Document) string {
	return `"` + strconv.FormatInt(doc.Lifecycle().Generation, 10) + `"`
}

// MatchParams makes a change conditional.
type MatchParams struct {
	IfMatch string `header:"If-Match" pattern:"^(\\*|\"[0-9]{1,18}\")$" patternDescription:"an ETag such as \"3\", with its quotes" doc:"Change only if this is still the document's ETag."`
}

// generation is the one that the document must have; nil for any.
func (m MatchParams) generation() *int64 {
	if m.IfMatch == "" || m.IfMatch == "*" {
		return nil
	}
	n, err := strconv.ParseInt(m.IfMatch[1:len(m.IfMatch)-1], 10, 64)
	if err != nil {
		n = -1
	}
	return &n
}

// change sets a document's intent, wakes the task services, and says in words
// why it could not.
func (c *collection[D]) change(ctx context.Context, id string, intent mongostore.Intent) (D, error) {
	var none D
	intent.Unless = append(intent.Unless, resource.Deleted)
	intent.Append = note(ctx, intent, "")
	doc, err := c.SetIntent(ctx, id, intent)
	if err == nil {
		c.api.docs.Hint(c.kind, id)
		return doc, nil
	}
	if !errors.Is(err, mongostore.ErrConflict) {
		return none, err
	}
	present, err := c.Get(ctx, id)
	if err != nil {
		return none, err
	}
	return none, refused(c.kind, present.Lifecycle(), intent)
}

// refused says why an intent was refused.
func refused(kind resource.Kind, m *engine.Meta, intent mongostore.Intent) error {
	switch {
	case m.State == resource.Deleted && kind == resource.KindApiGateway:
		return fail(CodeGatewayDeleted, "gateway %s is being deleted, which cannot be undone: make a new one", m.ID)
	case m.State == resource.Deleted:
		return fail(CodeConflict, "%s %s is being deleted, which cannot be undone: make it again once it is gone", kind, m.ID)
	case intent.IfGeneration != nil && m.Generation != *intent.IfGeneration:
		return fail(CodePreconditionFailed, "%s %s has changed: its ETag is now %s; read it again and repeat the change",
			kind, m.ID, etag(m))
	}
	return fail(CodeConflict, "%s %s has state %s, from which this change cannot be made", kind, m.ID, m.State)
}

// insert adds a document, with who asked for it, and why if they have said so.
func (c *collection[D]) insert(ctx context.Context, doc D, reason string) error {
	if audited, ok := any(doc).(interface{ Note(resource.AuditEntry) }); ok {
		now, err := c.Now(ctx)
		if err != nil {
			return err
		}
		e := entry(ctx, mongostore.Intent{State: doc.Lifecycle().State}, reason)
		e.At = now
		audited.Note(e)
	}
	return c.Insert(ctx, doc)
}

// remove asks for a document to be deleted; asking again changes nothing.
func (c *collection[D]) remove(ctx context.Context, id string, match MatchParams) (D, error) {
	doc, err := c.change(ctx, id, mongostore.Intent{State: resource.Deleted, IfGeneration: match.generation()})
	var p *Problem
	if !errors.As(err, &p) {
		return doc, err
	}
	now, getErr := c.Get(ctx, id)
	if getErr == nil && now.Lifecycle().State == resource.Deleted {
		return now, nil
	}
	return doc, err
}

// missing says in words that a document is not there.
func missing(err error, format string, args ...any) error {
	if errors.Is(err, mongostore.ErrNotFound) {
		return fail(CodeNotFound, "%s", fmt.Sprintf(format, args...))
	}
	return err
}
