package cli

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
)

// remote is a server and how it is asked.
type remote struct {
	base  string
	token string
	http  *http.Client
	// named tells which flag, variable or context the server is from.
	named string
}

// maxAnswer bounds what is read of an answer.
const maxAnswer = 64 << 20

// call makes a request. What is not a success is a [problem].
func (r *remote) call(ctx context.Context, method, path string, query url.Values, body any) (json.RawMessage, error) {
	raw, _, err := r.ask(ctx, method, path, query, body)
	return raw, err
}

func (r *remote) ask(ctx context.Context, method, path string, query url.Values, body any) (json.RawMessage, http.Header, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	req, err := r.request(ctx, method, path, query, body)
	if err != nil {
		return nil, nil, err
	}
	resp, err := r.http.Do(req)
	if err != nil {
		return nil, nil, r.unreachable(ctx, err)
	}
	defer resp.Body.Close() //nolint:errcheck // read to its end or given up
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return nil, nil, r.unreachable(ctx, err)
	}
	if resp.StatusCode >= http.StatusMultipleChoices {
		return nil, nil, problemOf(resp, raw)
	}
	return raw, resp.Header, nil
}

func (r *remote) request(ctx context.Context, method, path string, query url.Values, body any) (*http.Request, error) {
	address := r.base + path
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	var payload io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("encode the request: %w", err)
		}
		payload = bytes.NewReader(encoded)
	}
	req, err := http.NewRequestWithContext(ctx, method, address, payload)
	if err != nil {
		return nil, fmt.Errorf("make the request: %w", err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if r.token != "" {
		req.Header.Set("Authorization", "Bearer "+r.token)
	}
	return req, nil
}

func (r *remote) unreachable(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); errors.Is(cause, context.Canceled) {
		return cause
	}
	var failed *url.Error
	if errors.As(err, &failed) {
		err = failed.Err
	}
	return fail(Unreachable, "%s does not answer (%w): is it running, and is %s right?", r.base, err, r.named)
}

// problem is an answer that is not a success.
type problem struct {
	Status int    `json:"status"`
	Title  string `json:"title"`
	Code   string `json:"code"`
	Detail string `json:"detail"`
	Errors []struct {
		Location string `json:"location"`
		Message  string `json:"message"`
	} `json:"errors"`
}

// problemOf reads a problem; of an answer that is none, such as a proxy's, the
// status is all there is.
func problemOf(resp *http.Response, raw []byte) error {
	p := &problem{}
	if json.Unmarshal(raw, p) != nil || p.Detail == "" {
		p = &problem{Detail: fmt.Sprintf("the server answered %s, which is not an answer of Lockstep's API", resp.Status)}
	}
	p.Status = resp.StatusCode
	return p
}

// Error says what went wrong, naming the flags of the fields that are wrong.
func (p *problem) Error() string {
	var lines []string
	for _, e := range p.Errors {
		lines = append(lines, fmt.Sprintf("%s: %s", flagOf(e.Location), e.Message))
	}
	switch {
	case p.Status == http.StatusUnauthorized:
		return p.Detail + "; put a token into LOCKSTEP_TOKEN, or into a context (lockstep context add)"
	case len(lines) == 0:
		return p.Detail
	case len(lines) == 1:
		return lines[0]
	}
	return "several values are wrong:\n  " + strings.Join(lines, "\n  ")
}

// transport is the one to a server with a certificate of a CA of its own.
func transport(caFile string) (http.RoundTripper, error) {
	pem, err := os.ReadFile(caFile)
	if err != nil {
		return nil, fmt.Errorf("the context's CA file: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("the context's CA file %s holds no PEM certificate", caFile)
	}
	return &http.Transport{
		Proxy:           http.ProxyFromEnvironment,
		TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12},
	}, nil
}
