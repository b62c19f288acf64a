package main

import (
	"context"
	"fmt"
	"time"

	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/pkg/engine"
)

// phaseWithin is how long the demo waits for a phase. A replica that was
// killed delays what it held by the lock timeout, of which this is twice.
const phaseWithin = 2 * time.Minute

// player carries what the acts of the demo need.
type player struct {
	settings

	api      *api
	servers  *servers
	replicas *replicas
	board    *board
}

// play runs the gateways through their lives, act by act.
func play(ctx context.Context, o settings, a *api, s *servers, r *replicas, b *board) error {
	p := &player{settings: o, api: a, servers: s, replicas: r, board: b}
	if err := p.clearStage(ctx); err != nil {
		return err
	}
	b.title("1. Two gateways are created, in two regions.")
	shop, err := p.create(ctx, "shop", "eu")
	if err != nil {
		return err
	}
	blog, err := p.create(ctx, "blog", "us")
	if err != nil {
		return err
	}
	both := []string{shop, blog}
	if err := p.awaitAll(ctx, both, resource.Running, resource.PhaseStarted); err != nil {
		return err
	}
	acts := []struct {
		title string
		play  func(context.Context) error
	}{
		{"2. The first gets a function, a published stage, a client app and a trigger.", func(ctx context.Context) error { return p.furnish(ctx, shop) }},
		{"3. Both are stopped: traffic first, then the pods.", func(ctx context.Context) error { return p.set(ctx, both, resource.Stopped, resource.PhaseStopped) }},
		{"4. Both are started again.", func(ctx context.Context) error { return p.set(ctx, both, resource.Running, resource.PhaseStarted) }},
		{"5. Both are restarted: new pods, and Restarting becomes Running again.", func(ctx context.Context) error { return p.restart(ctx, both) }},
		{"6. The first gets a custom domain, with a certificate.", func(ctx context.Context) error { return p.bind(ctx, shop) }},
		{"7. The Deployment of the second is removed behind the service's back.", func(ctx context.Context) error { return p.drift(ctx, blog) }},
		{"8. Both are deleted: traffic, pods, data, namespace.", func(ctx context.Context) error { return p.remove(ctx, both) }},
	}
	for _, act := range acts {
		b.title("%s", act.title)
		if err := act.play(ctx); err != nil {
			return fmt.Errorf("%s %w", act.title, err)
		}
	}
	return nil
}

// clearStage deletes what an earlier demo, ended half-way, has left.
func (p *player) clearStage(ctx context.Context) error {
	left, err := p.api.gateways(ctx)
	if err != nil || len(left) == 0 {
		return err
	}
	p.board.title("0. An earlier demo was ended half-way: its %d gateways are deleted first.", len(left))
	return p.remove(ctx, left)
}

func (p *player) create(ctx context.Context, name, region string) (string, error) {
	id, err := p.api.create(ctx, map[string]any{"name": name, "region": region})
	if err != nil {
		return "", fmt.Errorf("create gateway %s: %w", name, err)
	}
	return id, nil
}

func (p *player) furnish(ctx context.Context, id string) error {
	gateway := "/v1/api-gateways/" + id
	for _, request := range []struct {
		method, path string
		body         map[string]any
	}{
		{"POST", gateway + "/functions", map[string]any{"name": "hello", "runtime": "javascript", "code": "export default () => 'hello'"}},
		{"PATCH", gateway + "/stages/dev", map[string]any{"routes": []any{map[string]any{"path": "/hello", "methods": []string{"GET"}, "function": "hello"}}}},
		{"POST", gateway + "/client-apps", map[string]any{"name": "web", "environment": "dev"}},
		{"POST", gateway + "/triggers", map[string]any{"name": "nightly", "schedule": "0 3 * * *", "timeZone": "Europe/Berlin", "function": "hello"}},
	} {
		if err := p.api.call(ctx, request.method, request.path, request.body, nil); err != nil {
			return err
		}
	}
	return poll(ctx, phaseWithin, func() (bool, error) {
		stage, err := p.servers.documents.Stages.Get(ctx, resource.EnvironmentName(id, "dev"))
		return err == nil && stage.PublishedGeneration == stage.Generation && stage.PublishedGeneration > 1, err
	})
}

func (p *player) set(ctx context.Context, ids []string, state engine.State, phase engine.Phase) error {
	for i, id := range ids {
		if err := p.api.setState(ctx, id, state); err != nil {
			return err
		}
		if p.killOne && state == resource.Stopped && i == 0 {
			p.board.title("   … and one replica is killed in the middle of it.")
			p.replicas.kill(replicaCount - 1)
		}
	}
	return p.awaitAll(ctx, ids, state, phase)
}

// restart waits for the state too: Running again is the end of Restarting.
func (p *player) restart(ctx context.Context, ids []string) error {
	for _, id := range ids {
		if err := p.api.setState(ctx, id, resource.Restarting); err != nil {
			return err
		}
	}
	return p.awaitAll(ctx, ids, resource.Running, resource.PhaseStarted)
}

func (p *player) bind(ctx context.Context, id string) error {
	domain := "shop-" + id + ".example.org"
	if err := p.api.call(ctx, "PUT", "/v1/api-gateways/"+id+"/runtime-domain/custom-domain", map[string]any{"domain": domain}, nil); err != nil {
		return err
	}
	return poll(ctx, phaseWithin, func() (bool, error) {
		doc, err := p.servers.documents.RuntimeDomains.Get(ctx, id)
		return err == nil && doc.CustomDomainReady == domain, err
	})
}

func (p *player) drift(ctx context.Context, id string) error {
	before, err := p.servers.removeDeployment(ctx, id)
	if err != nil {
		return err
	}
	err = poll(ctx, phaseWithin, func() (bool, error) {
		now, err := p.servers.deploymentUID(ctx, id)
		return now != "" && now != before, err
	})
	if err != nil {
		return err
	}
	return p.awaitAll(ctx, []string{id}, resource.Running, resource.PhaseStarted)
}

func (p *player) remove(ctx context.Context, ids []string) error {
	for _, id := range ids {
		if err := p.api.call(ctx, "DELETE", "/v1/api-gateways/"+id, nil, nil); err != nil {
			return err
		}
	}
	return poll(ctx, 2*phaseWithin, func() (bool, error) {
		left, err := p.api.gateways(ctx)
		return len(left) == 0, err
	})
}

// awaitAll waits until each gateway is in the state and phase, with nothing
// left to wait for.
func (p *player) awaitAll(ctx context.Context, ids []string, state engine.State, phase engine.Phase) error {
	for _, id := range ids {
		err := poll(ctx, phaseWithin, func() (bool, error) {
			gw, err := p.servers.documents.ApiGateways.Get(ctx, id)
			return err == nil && gw.State == state && gw.Phase == phase && gw.WaitingFor == "", err
		})
		if err != nil {
			return fmt.Errorf("gateway %s to be %s: %w", id, phase, err)
		}
	}
	return nil
}
