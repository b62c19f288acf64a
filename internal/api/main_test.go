package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest"

	"github.com/lockstep-io/lockstep/internal/api"
	"github.com/lockstep-io/lockstep/internal/documents"
	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/internal/testenv"
	"github.com/lockstep-io/lockstep/pkg/engine"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server is the API on a database of the test's own.
type server struct {
	t     *testing.T
	http  *httptest.Server
	docs  *documents.Documents
	hints *hintLog
	token string
}

type hintLog struct {
	mu   sync.Mutex
	seen []string
}

func (h *hintLog) add(kind resource.Kind, id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seen = append(h.seen, string(kind)+"/"+id)
}

func (h *hintLog) has(want string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.seen {
		if s == want {
			return true
		}
	}
	return false
}

// start serves the API; change alters what it is made of.
func start(t *testing.T, change ...func(*api.Config)) *server {
	t.Helper()
	docs := documents.Open(testenv.Database(t))
	if err := docs.EnsureIndexes(t.Context(), nil); err != nil {
		t.Fatalf("ensure indexes: %v", err)
	}
	s := &server{t: t, docs: docs, hints: &hintLog{}}
	docs.OnIntent(s.hints.add)
	cfg := api.Config{
		Documents: docs,
		Regions: []api.Region{
			{Name: "eu", DomainSuffix: "eu.example.com", TLS: true, RuntimeImage: "runtime:1", RuntimeReplicas: 1},
			{Name: "us", DomainSuffix: "us.example.com", RuntimeImage: "runtime:1", RuntimeReplicas: 1},
		},
		Explain: explainers(), Auth: api.Open{}, Log: zaptest.NewLogger(t, zaptest.Level(zap.WarnLevel)), Version: "test",
	}
	for _, f := range change {
		f(&cfg)
	}
	handler, err := api.New(cfg)
	if err != nil {
		t.Fatalf("new API: %v", err)
	}
	s.http = httptest.NewServer(handler)
	t.Cleanup(s.http.Close)
	return s
}

// answer is what the API answered.
type answer struct {
	t      *testing.T
	status int
	header http.Header
	body   []byte
}

// call makes a request; a body that is a string is sent as it is.
func (s *server) call(method, path string, body any, headers ...string) *answer {
	s.t.Helper()
	var reader io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		reader = strings.NewReader(b)
	default:
		raw, err := json.Marshal(b)
		if err != nil {
			s.t.Fatalf("marshal body: %v", err)
		}
		reader = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.http.URL+path, reader)
	if err != nil {
		s.t.Fatalf("make request: %v", err)
	}
	if reader != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if s.token != "" {
		req.Header.Set("Authorization", "Bearer "+s.token)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := s.http.Client().Do(req)
	if err != nil {
		s.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatalf("%s %s: read body: %v", method, path, err)
	}
	return &answer{t: s.t, status: res.StatusCode, header: res.Header, body: raw}
}

// want fails the test unless the status is as wanted.
func (a *answer) want(status int) *answer {
	a.t.Helper()
	if a.status != status {
		a.t.Fatalf("status %d, want %d: %s", a.status, status, a.body)
	}
	return a
}

// into decodes the body, which may have no field that v does not know.
func (a *answer) into(v any) {
	a.t.Helper()
	dec := json.NewDecoder(bytes.NewReader(a.body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		a.t.Fatalf("decode %s: %v", a.body, err)
	}
}

// as decodes a body into a fresh value.
func as[T any](a *answer) T {
	a.t.Helper()
	var v T
	a.into(&v)
	return v
}

// problem decodes an error and checks its form.
func (a *answer) problem(status int, code api.Code) *api.Problem {
	a.t.Helper()
	a.want(status)
	if ct := a.header.Get("Content-Type"); ct != "application/problem+json" {
		a.t.Fatalf("content type %q of %s", ct, a.body)
	}
	var p api.Problem
	a.into(&p)
	if p.Code != code || p.Status != status || p.Detail == "" || p.Title == "" {
		a.t.Fatalf("problem %+v, want code %s", p, code)
	}
	return &p
}

// gateway makes a gateway by the API.
func (s *server) gateway(fields ...any) *resource.ApiGateway {
	s.t.Helper()
	body := map[string]any{"name": "shop", "region": "eu"}
	for i := 0; i+1 < len(fields); i += 2 {
		body[fields[i].(string)] = fields[i+1]
	}
	var gw resource.ApiGateway
	s.call("POST", "/v1/api-gateways", body).want(http.StatusCreated).into(&gw)
	return &gw
}

// settle plays the task services' part: it puts a document into a phase.
func (s *server) settle(kind resource.Kind, id string, phase engine.Phase) {
	s.t.Helper()
	store, err := s.docs.Headers(kind)
	if err != nil {
		s.t.Fatal(err)
	}
	ctx := context.Background()
	rules := engine.Rules{Kind: string(kind), LockTimeout: engine.DefaultLockTimeout}
	for _, p := range allPhases {
		rules.Unsettled = append(rules.Unsettled, engine.Match{Phase: p})
	}
	docs, err := store.Claim(ctx, engine.ClaimRequest{Rules: rules, IDs: []string{id}, Holder: "test", Batch: testenv.RandomID(8)})
	if err != nil || len(docs) != 1 {
		s.t.Fatalf("claim %s %s: %d, %v", kind, id, len(docs), err)
	}
	lost, err := store.Apply(ctx, engine.Change{
		Kind: engine.Move, Holder: "test", LockTimeout: engine.DefaultLockTimeout, From: docs[0].Phase, To: phase,
	}, []engine.Ref{engine.RefOf(docs[0])})
	if err != nil || len(lost) > 0 {
		s.t.Fatalf("move %s %s: %v, %v", kind, id, lost, err)
	}
}

// children inserts what the steps of Creating make.
func (s *server) children(gw *resource.ApiGateway) {
	s.t.Helper()
	ctx := context.Background()
	meta := func(id string) engine.Meta {
		return engine.Meta{ID: id, State: resource.Active, Phase: resource.PhaseCreated, Generation: 1}
	}
	must := func(err error) {
		s.t.Helper()
		if err != nil {
			s.t.Fatal(err)
		}
	}
	must(s.docs.EnsureRuntimeDomain(ctx, &resource.RuntimeDomain{Meta: meta(gw.ID), GatewayID: gw.ID, Region: gw.Region}))
	must(s.docs.EnsureDatabase(ctx, &resource.Database{Meta: meta(gw.ID), GatewayID: gw.ID, Region: gw.Region, Name: "gw_" + gw.ID}))
	for _, name := range resource.Environments {
		id := resource.EnvironmentName(gw.ID, name)
		must(s.docs.EnsureEnvironment(ctx, &resource.Environment{Meta: meta(id), GatewayID: gw.ID, Name: name}))
		must(s.docs.EnsureStage(ctx, &resource.Stage{Meta: meta(id), GatewayID: gw.ID, Region: gw.Region, Environment: name}))
	}
}
