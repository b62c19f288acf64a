package cli

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/lockstep-io/lockstep/pkg/client"
)

// remote is a server and how it is asked. Documents are read as the server
// gives them, fields that this program does not know among them.
type remote struct {
	client *client.Client
	base   string
	token  string
	// named tells which flag, variable or context the server is from.
	named string
}

// open makes the client. A server that is away is said to be so at once: who
// waits for it does so in the open.
func (r *remote) open(transport http.RoundTripper, version string) (err error) {
	opts := []client.Option{
		client.WithHTTPClient(&http.Client{Transport: transport}), client.WithPatience(0), client.WithUserAgent("lockstep/" + version),
	}
	if r.token != "" {
		opts = append(opts, client.WithToken(r.token))
	}
	r.client, err = client.New(r.base, opts...)
	return err
}

// call makes a request. What is not a success is a [problem].
func (r *remote) call(ctx context.Context, method, path string, query url.Values, body any) (json.RawMessage, error) {
	raw, _, err := r.ask(ctx, method, path, query, body)
	return raw, err
}

func (r *remote) ask(ctx context.Context, method, path string, query url.Values, body any) (json.RawMessage, http.Header, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	raw, header, err := r.client.Do(ctx, method, path, query, body)
	var answered *client.Problem
	var network *url.Error
	switch {
	case errors.As(err, &answered):
		err = &problem{answered}
	case errors.Is(context.Cause(ctx), context.Canceled):
		err = context.Cause(ctx)
	case errors.As(err, &network):
		err = fail(Unreachable, "%s does not answer (%w): is it running, and is %s right?", r.base, network.Err, r.named)
	}
	return raw, header, err
}

// problem is an answer that is not a success.
type problem struct{ *client.Problem }

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
