package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/lockstep-io/lockstep/internal/documents"
	"github.com/lockstep-io/lockstep/internal/kind/apigateway"
	"github.com/lockstep-io/lockstep/internal/kind/clientapp"
	"github.com/lockstep-io/lockstep/internal/kind/cloudfunction"
	"github.com/lockstep-io/lockstep/internal/kind/crontrigger"
	"github.com/lockstep-io/lockstep/internal/kind/runtimedomain"
	"github.com/lockstep-io/lockstep/internal/kind/stage"
	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/pkg/engine"
	"github.com/lockstep-io/lockstep/pkg/engine/mongostore"
)

// family is the gateway family on a database, on drivers that answer at once:
// the platform's own kinds, wired as the platform does.
type family struct {
	db       *mongo.Database
	docs     *documents.Documents
	services []familyService
	// handlers are those of the plain pattern, for the same kinds.
	handlers []handler
	// moved is told of each gateway's changes of phase.
	moved func(id string, to engine.Phase)
	// stepped is told of each step of a gateway's transitions that begins.
	stepped func(gw *resource.ApiGateway)
}

// familyService is the task service of one kind.
type familyService struct {
	kind  resource.Kind
	rules engine.Rules
	run   func(context.Context) error
	hint  func(ids ...string)
}

func newFamily(ctx context.Context, db *mongo.Database) (*family, error) {
	f := &family{
		db: db, docs: documents.Open(db),
		moved: func(string, engine.Phase) {}, stepped: func(*resource.ApiGateway) {},
	}
	region := instant{}
	gateway := apigateway.Definition(&apigateway.Steps{Children: f.docs, Region: region.gateways, Password: rand.Text})
	f.observeSteps(gateway)
	add(f, gateway, f.docs.ApiGateways)
	add(f, runtimedomain.Definition(&runtimedomain.Steps{Region: region.domains}), f.docs.RuntimeDomains)
	add(f, clientapp.Definition(&clientapp.Steps{Region: region.consumers}), f.docs.ClientApps)
	add(f, stage.Definition(&stage.Steps{Functions: f.docs, Region: region.stages}), f.docs.Stages)
	add(f, cloudfunction.Definition(), f.docs.CloudFunctions)
	add(f, crontrigger.Definition(), f.docs.CronTriggers)
	return f, f.docs.EnsureIndexes(ctx, f.rules())
}

// add adds the task service of a kind, and the plain pattern's handlers.
func add[D engine.Document](f *family, def *engine.Definition[D], store *mongostore.Store[D]) {
	kind := resource.Kind(def.Kind)
	s := engine.NewService(def, store, engine.Options{Holder: "bench"})
	s.OnMove(func(doc D, to engine.Phase) { f.follow(kind, doc.Lifecycle().ID, to) })
	f.services = append(f.services, familyService{kind: kind, rules: def.Rules(), run: s.Run, hint: s.Hint})
	f.handlers = append(f.handlers, plainHandlers(def, f.db.Collection(def.Kind))...)
}

// follow tells of a gateway's move, and wakes the gateway of a child that has
// moved: their ids begin with its id.
func (f *family) follow(kind resource.Kind, id string, to engine.Phase) {
	if kind == resource.KindApiGateway {
		f.moved(id, to)
		return
	}
	gateway, _, _ := strings.Cut(id, "-")
	f.hint(resource.KindApiGateway, gateway)
}

// observeSteps tells of each step of the transitions as it begins.
func (f *family) observeSteps(def *engine.Definition[*resource.ApiGateway]) {
	for _, t := range def.Transitions {
		for i := range t.Steps {
			run := t.Steps[i].Run
			t.Steps[i].Run = func(ctx context.Context, gw *resource.ApiGateway) (engine.Outcome, error) {
				f.stepped(gw)
				return run(ctx, gw)
			}
		}
	}
}

func (f *family) rules() map[resource.Kind]engine.Rules {
	rules := map[resource.Kind]engine.Rules{}
	for _, s := range f.services {
		rules[s.kind] = s.rules
	}
	return rules
}

func (f *family) hint(kind resource.Kind, id string) {
	for _, s := range f.services {
		if s.kind == kind {
			s.hint(id)
		}
	}
}

// run runs the task services until ctx ends.
func (f *family) run(ctx context.Context) error {
	var wg sync.WaitGroup
	errs := make([]error, len(f.services))
	for i, s := range f.services {
		wg.Go(func() { errs[i] = s.run(ctx) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// documentsEach is how many documents insert makes for a gateway.
const documentsEach = 12

// insert makes n gateways that are started, with all that is below them: each
// has a domain, a database, three environments with a stage each, and a
// function, a client app and a trigger. If kinds are given, it makes only those.
func (f *family) insert(ctx context.Context, n int, kinds ...resource.Kind) error {
	if kinds == nil {
		kinds = resource.Kinds
	}
	for begin := 0; begin < n; begin += insertBatch {
		byKind := map[resource.Kind][]any{}
		for i := range min(insertBatch, n-begin) {
			plant(byKind, gatewayID(begin+i))
		}
		for _, kind := range kinds {
			if _, err := f.db.Collection(string(kind)).InsertMany(ctx, byKind[kind]); err != nil {
				return fmt.Errorf("insert %s: %w", kind, err)
			}
		}
	}
	return nil
}

func gatewayID(i int) string { return fmt.Sprintf("g%05d", i) }

// plant adds the documents of one gateway.
func plant(byKind map[resource.Kind][]any, id string) {
	now := time.Now()
	meta := func(id string, state engine.State, phase engine.Phase) engine.Meta {
		return engine.Meta{
			ID: id, State: state, Generation: 1, ObservedState: state, ObservedGeneration: 1, Phase: phase,
			PhaseAt: now, LockedAt: engine.Epoch, CreatedAt: now, UpdatedAt: now, ResyncAt: now.Add(time.Hour),
		}
	}
	grow := func(kind resource.Kind, doc any) { byKind[kind] = append(byKind[kind], doc) }
	active, made := resource.Active, resource.PhaseCreated

	grow(resource.KindApiGateway, &resource.ApiGateway{
		Meta: meta(id, resource.Running, resource.PhaseStarted), GatewayID: id, Name: "bench", Region: regionName,
	})
	grow(resource.KindRuntimeDomain, &resource.RuntimeDomain{Meta: meta(id, active, made), GatewayID: id, Region: regionName})
	grow(resource.KindDatabase, &resource.Database{Meta: meta(id, active, made), GatewayID: id, Region: regionName})
	for _, name := range resource.Environments {
		below := resource.EnvironmentName(id, name)
		grow(resource.KindEnvironment, &resource.Environment{Meta: meta(below, active, made), GatewayID: id, Name: name})
		grow(resource.KindStage, &resource.Stage{Meta: meta(below, active, made), GatewayID: id, Region: regionName, Environment: name})
	}
	grow(resource.KindCloudFunction, &resource.CloudFunction{Meta: meta(id+"-f", active, made), GatewayID: id, Region: regionName, Name: "f"})
	grow(resource.KindClientApp, &resource.ClientApp{Meta: meta(id+"-dev-a", active, made), GatewayID: id, Region: regionName, Environment: "dev", Name: "a"})
	grow(resource.KindCronTrigger, &resource.CronTrigger{Meta: meta(id+"-t", active, made), GatewayID: id, Region: regionName, Name: "t"})
}

// left counts the family's documents.
func (f *family) left(ctx context.Context) (int, error) {
	total := 0
	for _, kind := range resource.Kinds {
		n, err := f.db.Collection(string(kind)).CountDocuments(ctx, bson.D{})
		if err != nil {
			return 0, fmt.Errorf("count %s: %w", kind, err)
		}
		total += int(n)
	}
	return total, nil
}

// deleteAll asks for the deletion of all gateways, in one write, as a person in
// mongosh would.
func (f *family) deleteAll(ctx context.Context) error {
	_, err := f.db.Collection(string(resource.KindApiGateway)).UpdateMany(ctx, bson.D{}, bson.D{{Key: "$set", Value: bson.D{{Key: "state", Value: resource.Deleted}}}})
	if err != nil {
		return fmt.Errorf("ask for the deletion of all gateways: %w", err)
	}
	return nil
}
