package client

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// Do makes any request of the API and returns the answer as the server gave
// it, with its headers: for programs that show what they do not understand,
// and for routes that this package has no method for. The path begins with
// "/" and is not escaped.
func (c *Client) Do(ctx context.Context, method, path string, query url.Values, body any, opts ...CallOption) (json.RawMessage, http.Header, error) {
	r := &request{method: method, path: strings.Split(strings.Trim(path, "/"), "/"), query: url.Values{}, body: body, header: http.Header{}}
	for name, values := range query {
		r.query[name] = values
	}
	if method == http.MethodPost {
		r.header.Set("Idempotency-Key", rand.Text())
	}
	for _, opt := range opts {
		opt(r)
	}
	res, err := c.persist(ctx, r)
	if err != nil {
		return nil, nil, err
	}
	defer res.Body.Close() //nolint:errcheck // read to its end or given up
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, nil, fmt.Errorf("%s %s: read the answer: %w", method, c.address(r), err)
	}
	return raw, res.Header, nil
}
