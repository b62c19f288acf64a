package api

import (
	"context"
	"encoding/base64"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lockstep-io/lockstep/internal/documents"
	"github.com/lockstep-io/lockstep/internal/resource"
)

// PageParams are the parameters of every list.
type PageParams struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"100" doc:"How many documents to answer with at most."`
	Cursor cursor `query:"cursor" maxLength:"400" doc:"Where to go on: nextCursor of the page before."`
}

// cursor is the id after which a page begins, in a form that nobody is tempted
// to make.
type cursor string

func cursorOf(id string) cursor {
	if id == "" {
		return ""
	}
	return cursor(base64.RawURLEncoding.EncodeToString([]byte("v1:" + id)))
}

func (c cursor) after() string {
	raw, err := base64.RawURLEncoding.DecodeString(string(c))
	if err != nil || len(raw) < 3 {
		return ""
	}
	return string(raw[3:])
}

// Resolve refuses cursors that no page gave.
func (c *cursor) Resolve(_ huma.Context, at *huma.PathBuffer) []error {
	raw, err := base64.RawURLEncoding.DecodeString(string(*c))
	if *c == "" || err == nil && len(raw) > 3 && string(raw[:3]) == "v1:" {
		return nil
	}
	return []error{&huma.ErrorDetail{
		Location: at.String(), Value: string(*c),
		Message: "not a cursor: use nextCursor of the page before, or leave it out for the first page",
	}}
}

// Page is one page of a list.
type Page[T any] struct {
	Items      []T    `json:"items" nullable:"false"`
	NextCursor string `json:"nextCursor,omitempty" doc:"Where the next page begins; absent on the last."`
}

type pageOutput[T any] struct {
	Body Page[T]
}

// list reads a page of a collection's documents, without their histories and audits.
func (c *collection[D]) list(ctx context.Context, page PageParams, where map[string]string, hide ...string) (*pageOutput[D], error) {
	docs, next, err := documents.List(ctx, c.Store, documents.Query{
		Where: where, After: page.Cursor.after(), Limit: page.Limit, Hide: append(hide, "history", resource.AuditField),
	})
	if err != nil {
		return nil, err
	}
	if docs == nil {
		docs = []D{}
	}
	return &pageOutput[D]{Body: Page[D]{Items: docs, NextCursor: string(cursorOf(next))}}, nil
}
