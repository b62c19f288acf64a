package platform_test

import (
	"context"
	"testing"
	"time"

	"go.uber.org/zap/zaptest"

	"github.com/lockstep-io/lockstep/internal/documents"
	"github.com/lockstep-io/lockstep/internal/platform"
	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/internal/testenv"
	"github.com/lockstep-io/lockstep/pkg/engine"
	"github.com/lockstep-io/lockstep/pkg/engine/mongostore"
)

func TestLife(t *testing.T) {
	db := testenv.Database(t)
	docs := documents.Open(db)
	p, err := platform.New(docs, []resource.Region{{
		Name: "local", Kubeconfig: testenv.Kubeconfig(t), IngressClass: "apisix", DomainSuffix: "example.test",
		ClusterIssuer: "lockstep-selfsigned", RuntimeMongoURI: testenv.MongoURI(t), RuntimeImage: "runtime:1",
		RuntimeReplicas: 1, ApisixAcceptance: resource.AcceptedByAPIServer,
	}}, platform.Options{Engine: engine.Options{Holder: "r1"}, Log: zaptest.NewLogger(t)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- p.Run(ctx) }()
	defer func() { cancel(); <-done }()

	id, err := docs.NewGatewayID(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := docs.ApiGateways.Insert(ctx, &resource.ApiGateway{
		Meta:      engine.Meta{ID: id, State: resource.Running, Phase: resource.PhaseCreating, Generation: 1},
		GatewayID: id, Name: "shop", Region: "local",
	}); err != nil {
		t.Fatal(err)
	}
	wait := func(phase engine.Phase, state engine.State) {
		t.Helper()
		began := time.Now()
		for {
			gw, err := docs.ApiGateways.Get(ctx, id)
			if err != nil {
				if phase == engine.Purged {
					return
				}
				t.Fatal(err)
			}
			if gw.Phase == phase && gw.State == state {
				t.Log(phase, time.Since(began))
				return
			}
			if time.Since(began) > 40*time.Second {
				now, _ := docs.ApiGateways.Now(ctx)
				e, _ := p.Explain(resource.KindApiGateway, &gw.Meta, now)
				t.Fatalf("%s", e.Summary)
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
	set := func(state engine.State) {
		t.Helper()
		if _, err := docs.ApiGateways.SetIntent(ctx, id, mongostore.Intent{State: state}); err != nil {
			t.Fatal(err)
		}
		p.Hint(resource.KindApiGateway, id)
	}
	wait(resource.PhaseStarted, resource.Running)
	set(resource.Stopped)
	wait(resource.PhaseStopped, resource.Stopped)
	set(resource.Running)
	wait(resource.PhaseStarted, resource.Running)
	set(resource.Restarting)
	wait(resource.PhaseStarted, resource.Running)
	set(resource.Deleted)
	wait(engine.Purged, resource.Deleted)
}
