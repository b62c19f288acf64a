package api_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/lockstep-io/lockstep/internal/api"
	"github.com/lockstep-io/lockstep/internal/api/auth"
)

func TestRateLimit(t *testing.T) {
	tokens, known := users(map[string]auth.Grant{"ann": {Role: "viewer", Tenant: "a"}, "bob": {Role: "viewer", Tenant: "a"}})
	s := start(t, known, func(c *api.Config) { c.RateLimit = 3 })
	for range 3 {
		s.as(tokens["ann"]).call("GET", "/v1/regions", nil).want(http.StatusOK)
	}
	refused := s.as(tokens["ann"]).call("GET", "/v1/regions", nil)
	refused.problem(http.StatusTooManyRequests, api.CodeRateLimited)
	if refused.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	s.as(tokens["bob"]).call("GET", "/v1/regions", nil).want(http.StatusOK)
	for range 10 {
		s.call("GET", "/healthz", nil).want(http.StatusOK)
	}
	// Whoever guesses tokens is stopped by their address.
	for i := 0; ; i++ {
		if got := s.as("guess").call("GET", "/v1/regions", nil); got.status == http.StatusTooManyRequests {
			break
		}
		if i > 100 {
			t.Fatal("tokens can be guessed for ever")
		}
	}
}

func TestBodies(t *testing.T) {
	s := start(t)
	s.call("POST", "/v1/api-gateways", `{"name":"`+strings.Repeat("x", 2<<20)+`"}`).problem(http.StatusRequestEntityTooLarge, api.CodeTooLarge)
	s.call("POST", "/v1/api-gateways", `{"name":"`+strings.Repeat("x", 2<<20)+`"}`, "Idempotency-Key", "k").
		problem(http.StatusRequestEntityTooLarge, api.CodeTooLarge)
	p := s.call("POST", "/v1/api-gateways", `<name/>`, "Content-Type", "application/xml").problem(http.StatusUnsupportedMediaType, api.CodeMediaType)
	if len(p.Errors) != 1 || !strings.Contains(p.Detail, "Content-Type: application/json") {
		t.Errorf("XML: %+v", p)
	}
	p = s.call("POST", "/v1/api-gateways", strings.Repeat("[", 100_000)).problem(http.StatusBadRequest, api.CodeInvalidRequest)
	if len(p.Errors) != 1 {
		t.Errorf("half a body: %+v", p)
	}
	if allow := s.call("DELETE", "/v1/api-gateways", nil).want(http.StatusMethodNotAllowed).header.Values("Allow"); strings.Join(allow, " ") != "GET POST" {
		t.Errorf("Allow: %v", allow)
	}
}

func TestProbes(t *testing.T) {
	ready := errors.New("secret detail")
	s := start(t, withMetrics, func(c *api.Config) { c.Ready = func(context.Context) error { return ready } })
	s.call("GET", "/healthz", nil).want(http.StatusOK)
	if got := s.call("GET", "/readyz", nil); strings.Contains(string(got.body), "secret") {
		t.Errorf("says too much: %s", got.body)
	} else {
		got.problem(http.StatusServiceUnavailable, api.CodeUnavailable)
	}
	ready = nil
	s.call("GET", "/readyz", nil).want(http.StatusOK)
	s.call("GET", "/metrics", nil).want(http.StatusOK)
}

func TestConfig(t *testing.T) {
	if _, err := api.New(api.Config{}); err == nil || !strings.Contains(err.Error(), "Documents") {
		t.Errorf("without Documents: %v", err)
	}
	s := start(t)
	if _, err := api.New(api.Config{Documents: s.docs}); err == nil || !strings.Contains(err.Error(), "Auth") {
		t.Errorf("without Auth: %v", err)
	}
}

// TestPanics checks that one request's fault stays its own, and that nothing
// of it is shown.
func TestPanics(t *testing.T) {
	s := start(t, func(c *api.Config) {
		c.Ready = func(context.Context) error { panic("secret detail") }
	})
	if got := s.call("GET", "/readyz", nil); strings.Contains(string(got.body), "secret") {
		t.Errorf("says too much: %s", got.body)
	} else {
		got.problem(http.StatusInternalServerError, api.CodeInternal)
	}
	s.call("GET", "/healthz", nil).want(http.StatusOK)
}
