package client_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/lockstep-io/lockstep/internal/api"
	"github.com/lockstep-io/lockstep/internal/documents"
	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/internal/testenv"
	"github.com/lockstep-io/lockstep/pkg/client"
	"github.com/lockstep-io/lockstep/pkg/engine"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server is the real API, on a database of the test's own.
type server struct {
	*httptest.Server

	docs *documents.Documents
	line *line
}

func start(t *testing.T) (*server, *client.Client) {
	t.Helper()
	docs := documents.Open(testenv.Database(t))
	if err := docs.EnsureIndexes(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	definition := &engine.Definition[*resource.ApiGateway]{
		Kind: "ApiGateway", States: resource.States(resource.KindApiGateway),
		Phases:  []engine.Phase{resource.PhaseCreating, resource.PhaseStarted},
		Settled: []engine.Settled[*resource.ApiGateway]{{State: resource.Running, Phase: resource.PhaseStarted}},
		Transitions: []engine.Transition[*resource.ApiGateway]{{
			From: []engine.Phase{resource.PhaseCreating}, When: []engine.State{resource.Running}, To: resource.PhaseStarted,
		}},
	}
	handler, err := api.New(api.Config{
		Documents: docs, Auth: api.Open{}, Regions: []api.Region{{Name: "eu", DomainSuffix: "eu.example.test"}},
		Explain:  map[resource.Kind]api.Explainer{resource.KindApiGateway: definition.Explain, resource.KindClientApp: definition.Explain},
		Diagrams: map[resource.Kind]string{resource.KindApiGateway: definition.Diagram()},
		Shards: func() (api.Shards, bool) {
			now := time.Now().UTC()
			return api.Shards{SeenBy: "a", Count: 2, Moved: 1, Items: []api.Replica{
				{Name: "a", Since: now, SeenAt: now, Shards: []int{1}}, {Name: "b", Since: now, SeenAt: now, Shards: []int{0}},
			}}, true
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	s := &server{Server: httptest.NewServer(handler), docs: docs}
	t.Cleanup(s.Close)
	s.line = &line{to: s.Client().Transport, t: t}
	c, err := client.New(s.URL, client.WithHTTPClient(&http.Client{Transport: s.line}), client.WithToken("t"), client.WithPatience(5*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	return s, c
}

// line is the way to the server: it keeps the last answer, and can break.
type line struct {
	t  *testing.T
	to http.RoundTripper

	mu   sync.Mutex
	last []byte
	// fail is asked before a request is sent (answered false), and after.
	fail func(req *http.Request, answered bool) error
}

func (l *line) broken(req *http.Request, answered bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fail == nil {
		return nil
	}
	return l.fail(req, answered)
}

func (l *line) breaks(fail func(req *http.Request, answered bool) error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fail = fail
}

// RoundTrip implements [http.RoundTripper].
func (l *line) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := l.broken(req, false); err != nil {
		return nil, err
	}
	res, err := l.to.RoundTrip(req)
	if err != nil || res.Header.Get("Content-Type") == "text/event-stream" {
		return res, err
	}
	raw, err := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if err != nil {
		return nil, err
	}
	if err := l.broken(req, true); err != nil {
		return nil, err
	}
	l.mu.Lock()
	l.last = raw
	l.mu.Unlock()
	res.Body = io.NopCloser(bytes.NewReader(raw))
	return res, nil
}

// same checks that a typed answer says all that the server said.
func (l *line) same(typed any) {
	l.t.Helper()
	raw, err := json.Marshal(typed)
	if err != nil {
		l.t.Fatal(err)
	}
	var got, want any
	if err := json.Unmarshal(raw, &got); err != nil {
		l.t.Fatal(err)
	}
	if err := json.Unmarshal(l.last, &want); err != nil {
		l.t.Fatal(err)
	}
	if page, ok := want.(map[string]any); ok && reflect.TypeOf(typed).Kind() == reflect.Slice {
		want = page["items"]
	}
	if !reflect.DeepEqual(got, want) {
		l.t.Errorf("typed %s\nserver %s", raw, l.last)
	}
}

// children inserts what the steps of a gateway make.
func (s *server) children(t *testing.T, gw *client.Gateway) {
	t.Helper()
	ctx := t.Context()
	meta := engine.Meta{ID: gw.ID, State: resource.Active, Phase: resource.PhaseCreated, Generation: 1}
	env := meta
	env.ID += "-dev"
	for _, err := range []error{
		s.docs.EnsureRuntimeDomain(ctx, &resource.RuntimeDomain{Meta: meta, GatewayID: gw.ID, Region: "eu"}),
		s.docs.EnsureDatabase(ctx, &resource.Database{Meta: meta, GatewayID: gw.ID, Region: "eu", Name: "d", User: "u"}),
		s.docs.EnsureEnvironment(ctx, &resource.Environment{Meta: env, GatewayID: gw.ID, Name: "dev", Host: "h"}),
		s.docs.EnsureStage(ctx, &resource.Stage{Meta: env, GatewayID: gw.ID, Region: "eu", Environment: "dev"}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestComplete checks that there is a method for every operation.
func TestComplete(t *testing.T) {
	s, c := start(t)
	res, err := s.Client().Get(s.URL + "/openapi.json") //nolint:noctx // a test
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var d struct {
		Paths map[string]map[string]struct {
			OperationID string `json:"operationId"`
		} `json:"paths"`
	}
	if err := json.NewDecoder(res.Body).Decode(&d); err != nil {
		t.Fatal(err)
	}
	forPeople := map[string]bool{"getDocs": true, "getOpenAPI": true, "getMetrics": true}
	for path, item := range d.Paths {
		for method, op := range item {
			name := strings.ToUpper(op.OperationID[:1]) + op.OperationID[1:]
			if _, ok := reflect.TypeOf(c).MethodByName(name); !ok && !forPeople[op.OperationID] {
				t.Errorf("no method %s for %s %s", name, method, path)
			}
		}
	}
}

// TestCodes checks that the client knows every code.
func TestCodes(t *testing.T) {
	known := []string{
		client.CodeInvalidRequest, client.CodeValidation, client.CodeUnauthenticated, client.CodeForbidden, client.CodeNotFound,
		client.CodeNoRoute, client.CodeMethodNotAllowed, client.CodeNotAcceptable, client.CodeExists, client.CodeDomainTaken,
		client.CodeGatewayDeleted, client.CodeConflict, client.CodeNotReady, client.CodeInUse, client.CodePreconditionFailed,
		client.CodeTooLarge, client.CodeMediaType, client.CodeRateLimited, client.CodeInternal, client.CodeUnavailable,
		client.CodeKeyReused, client.CodeInProgress, client.CodeWaitTimeout, client.CodeWaitHopeless,
	}
	for _, info := range api.Codes {
		found := false
		for _, code := range known {
			found = found || code == string(info.Code)
		}
		if !found {
			t.Errorf("the client does not know code %s", info.Code)
		}
	}
}
