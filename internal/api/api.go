package api

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"
	_ "time/tzdata" // zones of triggers are checked wherever the service runs

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humachi"
	"github.com/go-chi/chi/v5"
	"go.uber.org/zap"

	"github.com/lockstep-io/lockstep/internal/documents"
	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/pkg/engine"
)

// Explainer explains a document of one kind, as [engine.Definition.Explain]
// does.
type Explainer func(m *engine.Meta, now time.Time) engine.Explanation

// Config is what the API needs.
type Config struct {
	Documents *documents.Documents
	// Regions are where gateways can be made.
	Regions []Region
	// Explain has an entry for each kind that a task service drives. Kinds
	// without one are moved by their gateway's steps.
	Explain map[resource.Kind]Explainer
	// Diagrams are the kinds' state diagrams, in Mermaid.
	Diagrams map[resource.Kind]string
	// Objects lists what exists for a gateway outside of MongoDB; nil leaves it
	// out of trees.
	Objects ObjectLister
	// Shards says how documents are divided among replicas; nil if they are
	// not.
	Shards ShardView
	// Resolver looks custom domains up; the system's if nil.
	Resolver Resolver
	// Ready says whether the service can do its work.
	Ready func(context.Context) error
	// Metrics serves /metrics; nil leaves it out.
	Metrics http.Handler
	// Auth says who makes a request; [Open] where nobody is asked.
	Auth Authenticator
	Log  *zap.Logger
	// Timeout bounds a request; [DefaultTimeout] if zero.
	Timeout time.Duration
	// RateLimit is how many requests a minute one caller may make of this
	// replica; [DefaultRateLimit] if zero, any number if negative.
	RateLimit int
	// Done, when closed, ends waits and watches, so that the server can shut
	// down.
	Done <-chan struct{}
	// Version of the service, for the API's description.
	Version string
}

// Defaults and limits.
const (
	DefaultTimeout   = 10 * time.Second
	DefaultRateLimit = 30_000
	maxBody          = 1 << 20
)

type api struct {
	Config
	collections

	huma    huma.API
	watches watches
	docs    *documents.Documents
	regions map[string]Region
	restful map[resource.Kind][]engine.Match // where kinds rest
	log     *zap.Logger
}

// New returns the API's handler.
func New(cfg Config) (http.Handler, error) {
	switch {
	case cfg.Documents == nil:
		return nil, errors.New("the API needs Documents")
	case cfg.Auth == nil:
		return nil, errors.New("the API needs Auth: pass Open{} to let everybody do everything")
	}
	if cfg.Log == nil {
		cfg.Log = zap.NewNop()
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = DefaultTimeout
	}
	if cfg.Resolver == nil {
		cfg.Resolver = net.DefaultResolver
	}
	if cfg.RateLimit == 0 {
		cfg.RateLimit = DefaultRateLimit
	}
	if cfg.Ready == nil {
		cfg.Ready = func(context.Context) error { return nil }
	}
	return newAPI(cfg).handler()
}

func newAPI(cfg Config) *api {
	a := &api{Config: cfg, docs: cfg.Documents, log: cfg.Log, regions: map[string]Region{}, restful: restingPairs(cfg.Explain)}
	a.collections = newCollections(a, cfg.Documents)
	for _, r := range cfg.Regions {
		a.regions[r.Name] = r
	}
	return a
}

// handler puts routes and middleware together.
func (a *api) handler() (http.Handler, error) {
	useProblems()
	router := chi.NewRouter()
	before, after := a.limits()
	router.Use(a.identify, a.record, a.recover, a.hurry, before, a.know, after, a.repeat)
	router.NotFound(func(w http.ResponseWriter, r *http.Request) {
		writeProblem(w, fail(CodeNoRoute, "the API has no path %s: see /docs", r.URL.Path))
	})
	router.MethodNotAllowed(func(w http.ResponseWriter, r *http.Request) {
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
			if router.Match(chi.NewRouteContext(), method, r.URL.Path) {
				w.Header().Add("Allow", method)
			}
		}
		writeProblem(w, fail(CodeMethodNotAllowed, "%s cannot be used on %s: see /docs", r.Method, r.URL.Path))
	})
	a.huma = humachi.New(router, a.humaConfig())
	a.routes()
	if err := a.describe(router); err != nil {
		return nil, err
	}
	return router, nil
}

func (a *api) humaConfig() huma.Config {
	cfg := huma.DefaultConfig("Lockstep", a.Version)
	cfg.CreateHooks = nil // no $schema in bodies
	cfg.OpenAPIPath, cfg.DocsPath, cfg.SchemasPath = "", "", ""
	cfg.RejectUnknownQueryParameters = true
	cfg.Info.Description = "API gateways, as documents that move in lockstep: requests write what is wanted (state, settings), " +
		"task services bring it about, and phase says how far they have come."
	cfg.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		bearer: {Type: "http", Scheme: "bearer", Description: "A token of this service, of its OIDC issuer, or of a Kubernetes service account."},
	}
	return cfg
}

func (a *api) routes() {
	a.healthRoutes()
	a.gatewayRoutes()
	a.adoptionRoutes()
	a.environmentRoutes()
	a.clientAppRoutes()
	a.functionRoutes()
	a.stageRoutes()
	a.triggerRoutes()
	a.databaseRoutes()
	a.domainRoutes()
	a.explainRoutes()
	a.treeRoutes()
	a.watchRoutes()
	a.eventRoutes()
	a.regionRoutes()
	a.shardRoutes()
	a.documentRoutes()
	a.kindRoutes()
	a.checkRoutes()
}
