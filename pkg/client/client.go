package client

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Client talks to one server. It may be used concurrently.
type Client struct {
	base      *url.URL
	http      *http.Client
	token     func(context.Context) (string, error)
	patience  time.Duration
	userAgent string
}

// Option changes what a [Client] is made of.
type Option func(*Client)

// WithToken sends a bearer token with each request.
func WithToken(token string) Option {
	return WithTokenSource(func(context.Context) (string, error) { return token, nil })
}

// WithTokenSource asks for the bearer token before each request, for tokens
// that expire.
func WithTokenSource(source func(context.Context) (string, error)) Option {
	return func(c *Client) { c.token = source }
}

// WithHTTPClient makes requests by an HTTP client of your own. It should have
// no timeout: waits and watches last.
func WithHTTPClient(h *http.Client) Option { return func(c *Client) { c.http = h } }

// WithPatience says for how long a request is tried again while the service
// cannot answer; 0 for never.
func WithPatience(d time.Duration) Option { return func(c *Client) { c.patience = d } }

// WithUserAgent names the program in the server's log.
func WithUserAgent(name string) Option { return func(c *Client) { c.userAgent = name } }

// DefaultPatience is that of clients without [WithPatience].
const DefaultPatience = 30 * time.Second

// New returns a client of the server at an address such as
// "https://lockstep.example.com". It does no I/O.
func New(address string, opts ...Option) (*Client, error) {
	base, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("server address: %w", err)
	}
	if base.Scheme != "http" && base.Scheme != "https" || base.Host == "" {
		return nil, fmt.Errorf("server address %q: use one such as https://lockstep.example.com", address)
	}
	c := &Client{base: base, http: http.DefaultClient, patience: DefaultPatience, userAgent: "lockstep-client"}
	for _, opt := range opts {
		opt(c)
	}
	return c, nil
}

// request is one request of the API.
type request struct {
	method string
	path   []string // its elements, unescaped
	query  url.Values
	body   any
	header http.Header
}

// CallOption changes one request.
type CallOption func(*request)

// Wait makes a request wait until the document is in a phase and the present
// intent was acted on ("phase:Started"), rests ("settled"), or is no more
// ("gone"), for as long as within. If it takes longer, the error's code is
// [CodeWaitTimeout]; what was asked for stands.
func Wait(until string, within time.Duration) CallOption {
	return func(r *request) {
		r.query.Set("wait", until)
		r.query.Set("timeout", within.String())
	}
}

// IfMatch makes a change only if the document is still as it was read. If it
// is not, the error's code is [CodePreconditionFailed].
func IfMatch(doc interface{ ETag() string }) CallOption {
	return func(r *request) { r.header.Set("If-Match", doc.ETag()) }
}

// IdempotencyKey names a request that makes something, so that it can be
// repeated, by another process too. Without it, a random one is used.
func IdempotencyKey(key string) CallOption {
	return func(r *request) { r.header.Set("Idempotency-Key", key) }
}

// do makes a request, and decodes the answer into out. It reports whether
// there was one: what was waited for to be gone is not answered with.
func (c *Client) do(ctx context.Context, r *request, out any, opts ...CallOption) (bool, error) {
	if r.query == nil {
		r.query = url.Values{}
	}
	r.header = http.Header{}
	if r.method == http.MethodPost {
		r.header.Set("Idempotency-Key", rand.Text())
	}
	for _, opt := range opts {
		opt(r)
	}
	res, err := c.persist(ctx, r)
	if err != nil {
		return false, err
	}
	defer res.Body.Close() //nolint:errcheck // read to its end or given up
	if res.StatusCode == http.StatusNoContent || out == nil {
		_, err := io.Copy(io.Discard, res.Body)
		return false, err
	}
	if err := json.NewDecoder(res.Body).Decode(out); err != nil {
		return false, fmt.Errorf("%s %s: decode the answer: %w", r.method, c.address(r), err)
	}
	return true, nil
}

// persist sends a request until it is answered, or patience is at an end.
func (c *Client) persist(ctx context.Context, r *request) (*http.Response, error) {
	until := time.Now().Add(c.patience)
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 5*time.Second) {
		res, err := c.send(ctx, r)
		wait, again := worthAnother(r, err, pause)
		if !again || time.Now().Add(wait).After(until) {
			return res, err
		}
		if ended := sleep(ctx, wait); ended != nil {
			return nil, errors.Join(ended, err)
		}
	}
}

// sleep returns the context's error if it ends before.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// worthAnother says whether a request may be answered if it is sent again, and
// after which pause. A conditional change of which no answer came may have been
// made: to send it again would say that it was not.
func worthAnother(r *request, err error, pause time.Duration) (time.Duration, bool) {
	var p *Problem
	var network *url.Error
	switch {
	case err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return 0, false
	case errors.As(err, &p):
		if slices.Contains([]string{CodeUnavailable, CodeRateLimited, CodeInProgress}, p.Code) {
			return max(pause, p.RetryAfter), true
		}
		return 0, false
	}
	return pause, errors.As(err, &network) && r.header.Get("If-Match") == ""
}

// send sends a request once. Answers that are not successes are problems.
func (c *Client) send(ctx context.Context, r *request) (*http.Response, error) {
	req, err := c.request(ctx, r)
	if err != nil {
		return nil, err
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode < http.StatusMultipleChoices {
		return res, nil
	}
	defer res.Body.Close() //nolint:errcheck // read to its end or given up
	return nil, problem(res)
}

func (c *Client) address(r *request) *url.URL {
	u := c.base.JoinPath(escaped(r.path)...)
	u.RawQuery = r.query.Encode()
	return u
}

func escaped(elements []string) []string {
	out := make([]string, len(elements))
	for i, e := range elements {
		out[i] = url.PathEscape(e)
		if e == "." || e == ".." { // or it would be taken for a step up
			out[i] = strings.ReplaceAll(e, ".", "%2E")
		}
	}
	return out
}

func (c *Client) request(ctx context.Context, r *request) (*http.Request, error) {
	var body io.Reader
	if r.body != nil {
		raw, err := json.Marshal(r.body)
		if err != nil {
			return nil, fmt.Errorf("encode the request: %w", err)
		}
		body = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, c.address(r).String(), body)
	if err != nil {
		return nil, fmt.Errorf("make the request: %w", err)
	}
	req.Header = r.header.Clone()
	req.Header.Set("User-Agent", c.userAgent)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.token != nil {
		token, err := c.token(ctx)
		if err != nil {
			return nil, fmt.Errorf("get a token: %w", err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
	}
	return req, nil
}

// problem reads the error that the server answered with.
func problem(res *http.Response) *Problem {
	raw, _ := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	p := &Problem{}
	if json.Unmarshal(raw, p) != nil || p.Code == "" {
		*p = Problem{Title: http.StatusText(res.StatusCode), Detail: "the server did not answer as Lockstep does: " + res.Status}
		if res.StatusCode == http.StatusBadGateway || res.StatusCode == http.StatusServiceUnavailable {
			p.Code = CodeUnavailable // a proxy says that it is away
		}
	}
	p.Status, p.Location = res.StatusCode, res.Header.Get("Location")
	if seconds, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil {
		p.RetryAfter = time.Duration(seconds) * time.Second
	}
	return p
}
