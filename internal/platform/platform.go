package platform

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/lockstep-io/lockstep/internal/documents"
	"github.com/lockstep-io/lockstep/internal/kind/apigateway"
	"github.com/lockstep-io/lockstep/internal/kind/clientapp"
	"github.com/lockstep-io/lockstep/internal/kind/cloudfunction"
	"github.com/lockstep-io/lockstep/internal/kind/crontrigger"
	"github.com/lockstep-io/lockstep/internal/kind/runtimedomain"
	"github.com/lockstep-io/lockstep/internal/kind/stage"
	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/pkg/engine"
)

// Options configure a platform.
type Options struct {
	// Engine configures each kind's task service.
	Engine engine.Options
	// LockTimeout is that of every kind; the engine's default if zero.
	LockTimeout time.Duration
	Log         *zap.Logger
	// Transport, if set, wraps the HTTP transport to each region's cluster: for
	// metrics and traces, and for tests that inject faults.
	Transport func(http.RoundTripper) http.RoundTripper
	// Around, if set, runs around each step, and AroundStore around each call
	// that claims or changes documents.
	Around      Around
	AroundStore AroundStore

	paused func(kind resource.Kind) func() bool
}

// Platform runs the gateway family on its regions.
type Platform struct {
	documents *documents.Documents
	regions   regions
	first     *region
	services  []service
	alongside []func(ctx context.Context)
	log       *zap.Logger

	// What Ready goes by: the indexes are there; a region was reached; Run was
	// asked to end.
	prepared, reached, ending atomic.Bool
}

// New makes the drivers of the regions and the kinds' task services. It does
// no I/O but reading kubeconfigs, whose mistakes it reports.
func New(docs *documents.Documents, settings []resource.Region, opts Options) (*Platform, error) {
	if opts.Log == nil {
		opts.Log = zap.NewNop()
	}
	all, err := newRegions(settings, opts)
	if err != nil {
		return nil, err
	}
	p := &Platform{documents: docs, regions: all, log: opts.Log}
	if len(settings) > 0 {
		p.first = all[settings[0].Name]
	}
	p.services = p.newServices(opts)
	for _, s := range p.services {
		if err := s.validate(); err != nil {
			return nil, err
		}
	}
	docs.OnIntent(p.Hint)
	for _, r := range all {
		r.cluster.OnChange(p.Hint)
	}
	return p, nil
}

// newServices makes the task service of each kind that has one. Database and
// Environment have none: they stand for what the gateway's own steps make.
func (p *Platform) newServices(opts Options) []service {
	opts.paused = p.pausing
	gateway := apigateway.Definition(&apigateway.Steps{Children: p.documents, Region: p.regions.apigateway, Password: rand.Text})
	domain := runtimedomain.Definition(&runtimedomain.Steps{Region: p.regions.runtimedomain})
	app := clientapp.Definition(&clientapp.Steps{Region: p.regions.clientapp, Keys: p.regions.keys})
	published := stage.Definition(&stage.Steps{Functions: p.documents, Region: p.regions.stage})
	function, trigger := cloudfunction.Definition(), crontrigger.Definition()

	return []service{
		newService(gateway, p.documents.ApiGateways, opts, func(*resource.ApiGateway, engine.Phase) {}),
		newService(domain, p.documents.RuntimeDomains, opts, func(d *resource.RuntimeDomain, to engine.Phase) {
			p.wakeParent(d.GatewayID)
			if to == resource.PhaseCreated && d.CustomDomain != "" {
				p.Hint(resource.KindRuntimeDomain, d.ID)
			}
		}),
		newService(app, p.documents.ClientApps, opts, func(d *resource.ClientApp, _ engine.Phase) { p.wakeParent(d.GatewayID) }),
		newService(published, p.documents.Stages, opts, func(d *resource.Stage, _ engine.Phase) { p.wakeParent(d.GatewayID) }),
		newService(function, p.documents.CloudFunctions, opts, func(d *resource.CloudFunction, _ engine.Phase) { p.wakeParent(d.GatewayID) }),
		newService(trigger, p.documents.CronTriggers, opts, func(d *resource.CronTrigger, _ engine.Phase) { p.wakeParent(d.GatewayID) }),
	}
}

// wakeParent hints at the gateway that may wait for one of its children.
func (p *Platform) wakeParent(gatewayID string) { p.Hint(resource.KindApiGateway, gatewayID) }

// Hint wakes the task service of a kind, on this replica, for a document.
func (p *Platform) Hint(kind resource.Kind, id string) {
	for _, s := range p.services {
		if s.kind == kind {
			s.hint(id)
		}
	}
}

// Alongside adds something that runs while the task services do and returns
// when its context ends: membership, and what is done under leases. Call it
// before Run.
func (p *Platform) Alongside(run func(ctx context.Context)) { p.alongside = append(p.alongside, run) }

// Rules are the rules by which each kind's documents are claimed.
func (p *Platform) Rules() map[resource.Kind]engine.Rules {
	rules := map[resource.Kind]engine.Rules{}
	for _, s := range p.services {
		rules[s.kind] = s.rules
	}
	return rules
}

// Explain explains a document of a kind; ok is false for kinds that have no
// task service.
func (p *Platform) Explain(kind resource.Kind, m *engine.Meta, now time.Time) (e engine.Explanation, ok bool) {
	for _, s := range p.services {
		if s.kind == kind {
			return s.explain(m, now), true
		}
	}
	return engine.Explanation{}, false
}

// Diagrams returns each kind's state diagram (Mermaid).
func (p *Platform) Diagrams() map[resource.Kind]string {
	diagrams := map[resource.Kind]string{}
	for _, s := range p.services {
		diagrams[s.kind] = s.diagram()
	}
	return diagrams
}

// startTimeout bounds one attempt to reach the servers at start.
const startTimeout = 30 * time.Second

// startPause is between such attempts.
const startPause = 2 * time.Second

// Run makes sure of the indexes, starts the watches, and runs the task
// services until ctx ends; it returns when all have ended. Servers that cannot
// be reached are waited for, and said to be in the log.
func (p *Platform) Run(ctx context.Context) error {
	defer p.ending.Store(true)
	defer context.AfterFunc(ctx, func() { p.ending.Store(true) })()
	if err := p.prepare(ctx); err != nil {
		return nil //nolint:nilerr // it fails only when ctx has ended
	}
	p.prepared.Store(true)
	var wg sync.WaitGroup
	for _, r := range p.regions {
		wg.Go(func() { p.watch(ctx, r) })
	}
	for _, run := range p.alongside {
		wg.Go(func() { run(ctx) })
	}
	wg.Go(func() { p.heedPauses(ctx) })
	errs := make([]error, len(p.services))
	for i, s := range p.services {
		wg.Go(func() { errs[i] = s.run(ctx) })
	}
	wg.Wait()
	p.stop()
	return errors.Join(errs...)
}

// watch starts a region's watches. A region that cannot be reached keeps no
// other waiting: its own documents fail and back off until it can.
func (p *Platform) watch(ctx context.Context, r *region) {
	if err := r.cluster.Start(ctx); err != nil && ctx.Err() == nil {
		p.log.Warn("region not watched yet; it is tried again", zap.String("region", r.settings.Name), zap.Error(err))
	}
}

// prepare makes sure of the indexes and reads what is paused, trying until it
// can or ctx ends: nothing that is paused may be claimed because it is not known
// to be.
func (p *Platform) prepare(ctx context.Context) error {
	for {
		attempt, cancel := context.WithTimeout(ctx, startTimeout)
		// Asked first, it is said at once that there is no database, and not of
		// each index.
		err := p.documents.Ping(attempt)
		if err == nil {
			err = errors.Join(p.documents.EnsureIndexes(attempt, p.Rules()), p.documents.ReadPauses(attempt))
		}
		cancel()
		if err == nil {
			return nil
		}
		p.log.Error("database not ready; trying again", zap.Error(err))
		select {
		case <-ctx.Done():
			return fmt.Errorf("prepare the database: %w", ctx.Err())
		case <-time.After(startPause):
		}
	}
}

// stop ends the watches and closes connections.
func (p *Platform) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	for _, r := range p.regions {
		r.cluster.Stop()
		if err := r.databases.Close(ctx); err != nil {
			p.log.Warn("region's database connection not closed", zap.String("region", r.settings.Name), zap.Error(err))
		}
	}
}

// Kinds are the names of the kinds that have a task service.
func Kinds() []string {
	return []string{
		string(resource.KindApiGateway), string(resource.KindRuntimeDomain), string(resource.KindClientApp),
		string(resource.KindStage), string(resource.KindCloudFunction), string(resource.KindCronTrigger),
	}
}
