package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/pkg/engine"
)

// world is all that a run consists of.
type world struct {
	o        settings
	began    time.Time
	stack    *stack
	links    *links
	replicas *replicas
	servers  *servers
	audit    *audit
	history  *historian
	load     *workload
	freezes  *freezes
	server   sync.Mutex // held by the fault that is at a server

	stopWatching context.CancelFunc
	faults       faults
	result       result
}

// faults is what was injected.
type faults struct {
	injected map[string]int
	recovery map[string][]time.Duration
	failed   []string
	killed   map[string]bool // processes, with no other fault under way
}

// begin brings everything up. What is up must be ended, also after an error.
func begin(ctx context.Context, o settings) (*world, error) {
	w := &world{o: o, began: time.Now(), links: newLinks(), freezes: &freezes{}, faults: faults{injected: map[string]int{}, recovery: map[string][]time.Duration{}, killed: map[string]bool{}}}
	w.stopWatching = func() {}
	say("building the service, and bringing up the stack")
	if _, err := output(ctx, nil, "go", "build", "-trimpath", "-o", filepath.Join(o.folder, "lockstep"), "./cmd/lockstep"); err != nil {
		return w, err
	}
	var err error
	if w.stack, err = upStack(ctx, o); err != nil {
		return w, err
	}
	if w.servers, err = connect(w.stack); err != nil {
		return w, err
	}
	if err := w.servers.prepare(ctx); err != nil {
		return w, fmt.Errorf("prepare the cluster: %w", err)
	}
	w.replicas, err = startReplicas(o, w.stack, w.links)
	if err != nil {
		return w, err
	}
	watching, stop := context.WithCancel(context.WithoutCancel(ctx))
	w.stopWatching = stop
	w.audit, w.history, w.load = newAudit(w.servers), newHistorian(w.servers), newWorkload(w)
	w.freezes.watch(watching)
	w.audit.watch(watching)
	w.history.watch(watching)
	say("%d replicas are ready", len(w.replicas.all))
	return w, nil
}

// end takes everything down that is up.
func (w *world) end() {
	w.stopWatching()
	if w.replicas != nil {
		w.replicas.stop()
	}
	if w.audit != nil {
		w.freezes.wait()
		w.audit.wait()
		w.history.wait()
	}
	w.links.close()
	if w.servers != nil {
		w.servers.close()
	}
	if w.stack != nil && !w.o.keep {
		w.stack.down()
	}
}

// storm injects faults, one after another, while users act.
func (w *world) storm(ctx context.Context, chosen []nemesis) {
	acting, rest := context.WithCancel(ctx)
	w.load.run(acting)
	random := rand.New(rand.NewPCG(w.o.seed, 0)) //nolint:gosec // choices that can be repeated
	pauseFor(ctx, 5*time.Second)                 // for something to be there
	for lasted := w.freezes.start(); lasted.read() < w.o.lasts && ctx.Err() == nil; {
		order := slices.Clone(chosen)
		random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		for _, n := range order {
			if lasted.read() > w.o.lasts || ctx.Err() != nil {
				break
			}
			w.inject(ctx, n, random)
			pauseFor(ctx, between(random, 500*time.Millisecond, 3*time.Second))
		}
	}
	rest()
	w.load.wait()
}

// inject makes one fault, and measures how long documents stand still for it.
func (w *world) inject(ctx context.Context, n nemesis, random *rand.Rand) {
	var measuring sync.WaitGroup
	measure := func() {
		since := w.freezes.start()
		waiting, err := w.servers.inFlight(ctx)
		if err != nil {
			w.faults.failed = append(w.faults.failed, "no snapshot for "+n.name+": "+err.Error())
			return
		}
		in := len(waiting)
		measuring.Go(func() {
			took, stuck := w.servers.recovery(ctx, since, waiting)
			w.faults.recovery[n.name] = append(w.faults.recovery[n.name], took)
			say("  recovery %-9s %5.1fs, of %d documents in flight", n.name, took.Seconds(), in)
			for _, s := range stuck {
				if ctx.Err() == nil {
					w.result.violate("stuck", fmt.Sprintf("%s has not moved within %s after %s", s, recoveryMost, n.name))
				}
			}
		})
	}
	if !n.shared {
		measure()
	}
	target, err := n.run(ctx, w, random)
	if n.shared {
		measure()
	}
	w.faults.injected[n.name]++
	w.faults.killed[target] = n.name == "kill" // the target is the process
	say("fault %-9s at %s", n.name, target)
	if err != nil && ctx.Err() == nil {
		w.faults.failed = append(w.faults.failed, n.name+": "+err.Error())
		say("  %v", err)
	}
	measuring.Wait()
}

// calm lets all faults be over, gives every gateway a final intent, waits
// until everything has settled; then has everything deleted, and looks what is
// left.
func (w *world) calm(ctx context.Context) {
	say("all faults are over; every gateway gets its final intent")
	random := rand.New(rand.NewPCG(w.o.seed, 1<<32)) //nolint:gosec // choices that can be repeated
	began := w.freezes.start()
	final := w.finalIntents(ctx, random)
	w.result.unsettled = w.settle(ctx)
	w.result.settled = began.read()
	for _, u := range w.result.unsettled {
		w.result.violate("unsettled", u)
	}
	w.compare(ctx, final)
	say("settled after %.1fs, %d unsettled; everything is deleted", w.result.settled.Seconds(), len(w.result.unsettled))

	began = w.freezes.start()
	w.deleteAll(ctx, random)
	w.result.deleted = began.read()
	say("deleted after %.1fs; left: %d documents, %d objects", w.result.deleted.Seconds(), len(w.result.documents), len(w.result.orphans))
	for _, left := range slices.Concat(w.result.documents, w.result.orphans) {
		w.result.violate("left", left)
	}
	w.history.read(ctx)
}

// finalIntents wants each gateway to be Running or Stopped, half of them by
// REST, the others by a direct write.
func (w *world) finalIntents(ctx context.Context, random *rand.Rand) map[string]engine.State {
	final := map[string]engine.State{}
	within(time.Minute, func() bool {
		ids, err := w.load.gateways(ctx)
		for _, id := range ids {
			if final[id] != "" {
				continue
			}
			state := []engine.State{resource.Running, resource.Stopped}[random.IntN(2)]
			change := w.load.setState
			if random.IntN(2) == 0 {
				change = func(ctx context.Context, id string, state engine.State) error {
					return w.servers.want(ctx, resource.KindApiGateway, id, state)
				}
			}
			if changed := change(ctx, id, state); changed != nil {
				err = errors.Join(err, changed)
				continue
			}
			final[id] = state
		}
		return err == nil || ctx.Err() != nil
	})
	return final
}

// settle waits until all documents rest, and stay so for a moment: a resync
// may still find something to put right.
func (w *world) settle(ctx context.Context) (unsettled []string) {
	calm := time.Time{}
	within(w.o.settle, func() bool {
		moving, err := w.servers.inFlight(ctx)
		unsettled = nil
		for key, s := range moving {
			unsettled = append(unsettled, fmt.Sprintf("%s: %s/%s %s: %s %v", key, s.doc.State, s.doc.Phase, s.doc.Step, s.doc.WaitingFor, s.doc.LastError))
		}
		switch {
		case err != nil || len(moving) > 0:
			calm = time.Time{}
		case calm.IsZero():
			calm = time.Now()
		}
		return !calm.IsZero() && time.Since(calm) > time.Second || ctx.Err() != nil
	})
	return unsettled
}

// compare looks whether the cluster is as it is wanted: a gateway that runs
// has its Deployment, one that is stopped has none.
func (w *world) compare(ctx context.Context, final map[string]engine.State) {
	var wrong []string
	within(90*time.Second, func() bool {
		wrong = nil
		deployed, err := w.servers.deployed(ctx)
		for id, state := range final {
			if want := state == resource.Running; deployed[id] != want {
				wrong = append(wrong, fmt.Sprintf("gateway %s is wanted %s, and deployed: %t", id, state, deployed[id]))
			}
		}
		return err == nil && len(wrong) == 0 || ctx.Err() != nil
	})
	for _, text := range wrong {
		w.result.violate("world", text)
	}
}

func (w *world) deleteAll(ctx context.Context, random *rand.Rand) {
	within(w.o.settle, func() bool {
		ids, err := w.load.gateways(ctx)
		for _, id := range ids {
			err = errors.Join(err, w.load.remove(ctx, id, random))
		}
		if err != nil {
			return ctx.Err() != nil
		}
		left, err := w.servers.left(ctx)
		if err == nil {
			w.result.documents, w.result.orphans = left.Documents, left.Outside()
		}
		return err == nil && len(left.Documents)+len(left.Outside()) == 0 || ctx.Err() != nil
	})
}
