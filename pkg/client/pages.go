package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"
)

// Page is one page of a list.
type Page[T any] struct {
	Items []T `json:"items"`
	// NextCursor is where the next page begins; empty on the last.
	NextCursor string `json:"nextCursor,omitempty"`
}

// Paging says which page of a list is asked for. The zero value is the first,
// of the server's usual size.
type Paging struct {
	Limit  int
	Cursor string
}

func (p Paging) query() url.Values {
	q := url.Values{}
	if p.Limit > 0 {
		q.Set("limit", strconv.Itoa(p.Limit))
	}
	set(q, "cursor", p.Cursor)
	return q
}

// set sets a parameter unless it is empty.
func set(q url.Values, name, value string) {
	if value != "" {
		q.Set(name, value)
	}
}

// page reads one page of a list.
func page[T any](ctx context.Context, c *Client, q url.Values, path ...string) (*Page[T], error) {
	var out Page[T]
	if _, err := c.do(ctx, &request{method: http.MethodGet, path: path, query: q}, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// all goes through all pages of a list. It stops at the first error.
func all[T any](read func(Paging) (*Page[T], error)) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		var at Paging
		for {
			p, err := read(at)
			if err != nil {
				yield(nil, err)
				return
			}
			for i := range p.Items {
				if !yield(&p.Items[i], nil) {
					return
				}
			}
			if p.NextCursor == "" {
				return
			}
			at.Cursor = p.NextCursor
		}
	}
}

// get reads something that is no list.
func get[T any](ctx context.Context, c *Client, opts []CallOption, path ...string) (*T, error) {
	return call[T](ctx, c, http.MethodGet, nil, opts, path...)
}

// call makes a request. The answer is nil if what was waited for to be gone is.
func call[T any](ctx context.Context, c *Client, method string, body any, opts []CallOption, path ...string) (*T, error) {
	var out T
	there, err := c.do(ctx, &request{method: method, path: path, body: body}, &out, opts...)
	if err != nil || !there {
		return nil, err
	}
	return &out, nil
}
