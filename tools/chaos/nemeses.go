package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"
)

// nemesis is a way to hurt the service or its servers.
type nemesis struct {
	name string
	what string
	// shared: all replicas suffer, so that recovery is counted from the end of
	// the fault. Of the others it is counted from its beginning: the replicas
	// that are well go on.
	shared bool
	// run does it, and mends it. It returns what was hurt.
	run func(ctx context.Context, w *world, random *rand.Rand) (string, error)
}

// nemeses are all of them.
var nemeses = []nemesis{
	{name: "kill", what: "SIGKILL of a replica, another started a few seconds later", run: kill},
	{name: "pause", what: "SIGSTOP of a replica for longer than the lock, then SIGCONT", run: pauseReplica},
	{name: "cut-db", what: "a replica cut off from the database: refused, or swallowed without an answer", run: cutDB},
	{name: "cut-kube", what: "a replica cut off from Kubernetes, likewise", run: cutKube},
	{name: "slow", what: "a replica's lines slow: latency and jitter, or little bandwidth in pieces", run: slow},
	{name: "lossy", what: "a replica's lines lossy: connections reset", run: lossy},
	{name: "late", what: "a replica cut off from the database while each call to Kubernetes takes long", run: late},
	{name: "gateway", what: "a database gateway killed and back", shared: true, run: databaseGateway},
	{name: "postgres", what: "PostgreSQL killed, or stopped in order, and back", shared: true, run: component("postgres")},
	{name: "apiserver", what: "kube-apiserver killed, or stopped in order, and back", shared: true, run: component("kube-apiserver")},
	{name: "clock", what: "a replica ended by SIGTERM, another started whose clock is up to 10 minutes off", run: clock},
	{name: "all", what: "everything at once: a fault at each replica, one at a server", shared: true},
}

// init closes the circle: this one runs the others.
func init() { nemeses[len(nemeses)-1].run = all }

func nemesisNames() []string {
	var names []string
	for _, n := range nemeses {
		names = append(names, n.name)
	}
	return names
}

func chooseNemeses(list string) ([]nemesis, error) {
	if list == "" {
		return nemeses, nil
	}
	var chosen []nemesis
	for name := range strings.SplitSeq(list, ",") {
		i := slices.IndexFunc(nemeses, func(n nemesis) bool { return n.name == name })
		if i < 0 {
			return nil, fmt.Errorf("-nemeses %q: use of %s", name, strings.Join(nemesisNames(), ","))
		}
		chosen = append(chosen, nemeses[i])
	}
	return chosen, nil
}

// between is a random duration.
func between(random *rand.Rand, least, most time.Duration) time.Duration {
	return least + time.Duration(random.Int64N(int64(most-least)+1))
}

// victim takes a replica that no other fault is at.
func (w *world) victim(random *rand.Rand) *replica {
	begin := random.IntN(len(w.replicas.all))
	for i := range w.replicas.all {
		r := w.replicas.all[(begin+i)%len(w.replicas.all)]
		if r.mu.TryLock() {
			return r
		}
	}
	return nil
}

var errBusy = errors.New("each replica has a fault already")

// atReplica runs a fault at a replica.
func atReplica(f func(ctx context.Context, w *world, r *replica, random *rand.Rand) error) func(context.Context, *world, *rand.Rand) (string, error) {
	return func(ctx context.Context, w *world, random *rand.Rand) (string, error) {
		r := w.victim(random)
		if r == nil {
			return "", errBusy
		}
		defer r.mu.Unlock()
		name := r.name
		return name, f(ctx, w, r, random)
	}
}

func kill(ctx context.Context, w *world, random *rand.Rand) (string, error) {
	return atReplica(func(ctx context.Context, w *world, r *replica, random *rand.Rand) error {
		r.kill()
		pauseFor(ctx, between(random, time.Second, 8*time.Second))
		return w.replicas.start(r)
	})(ctx, w, random)
}

func pauseReplica(ctx context.Context, w *world, random *rand.Rand) (string, error) {
	return atReplica(func(_ context.Context, w *world, r *replica, random *rand.Rand) error {
		w.replicas.stopFor(r, w.o.lock+between(random, 500*time.Millisecond, w.o.lock+time.Second))
		return nil
	})(ctx, w, random)
}

// cut cuts a line in one of two ways, for longer than the lock.
func cut(pick func(*replica) *link) func(context.Context, *world, *rand.Rand) (string, error) {
	return atReplica(func(ctx context.Context, w *world, r *replica, random *rand.Rand) error {
		how := pick(r).refuse
		if random.IntN(2) == 0 {
			how = pick(r).swallow
		}
		err := how()
		pauseFor(ctx, w.o.lock+between(random, time.Second, 2*w.o.lock))
		return errors.Join(err, pick(r).heal())
	})
}

func cutDB(ctx context.Context, w *world, random *rand.Rand) (string, error) {
	return cut(func(r *replica) *link { return r.db })(ctx, w, random)
}

func cutKube(ctx context.Context, w *world, random *rand.Rand) (string, error) {
	return cut(func(r *replica) *link { return r.kube })(ctx, w, random)
}

// onLines does something to both lines of a replica for a while.
func onLines(f func(l *link, random *rand.Rand) error) func(context.Context, *world, *rand.Rand) (string, error) {
	return atReplica(func(ctx context.Context, _ *world, r *replica, random *rand.Rand) error {
		err := errors.Join(f(r.db, random), f(r.kube, random))
		pauseFor(ctx, between(random, 8*time.Second, 15*time.Second))
		return errors.Join(err, r.db.heal(), r.kube.heal())
	})
}

func slow(ctx context.Context, w *world, random *rand.Rand) (string, error) {
	return onLines(func(l *link, random *rand.Rand) error {
		if random.IntN(3) == 0 {
			return l.narrow(8 + random.IntN(56))
		}
		latency := between(random, 50*time.Millisecond, 700*time.Millisecond)
		return l.slow(latency, latency/2)
	})(ctx, w, random)
}

func lossy(ctx context.Context, w *world, random *rand.Rand) (string, error) {
	return onLines(func(l *link, random *rand.Rand) error {
		return l.lossy(0.5, between(random, 0, time.Second))
	})(ctx, w, random)
}

func late(ctx context.Context, w *world, random *rand.Rand) (string, error) {
	return atReplica(func(ctx context.Context, w *world, r *replica, random *rand.Rand) error {
		err := r.kube.slow(between(random, 500*time.Millisecond, 900*time.Millisecond), 0)
		pauseFor(ctx, 4*time.Second)
		err = errors.Join(err, r.db.swallow())
		pauseFor(ctx, 2*w.o.lock)
		return errors.Join(err, r.db.heal(), r.kube.heal())
	})(ctx, w, random)
}

func databaseGateway(ctx context.Context, w *world, random *rand.Rand) (string, error) {
	return component([]string{"ferretdb-1", "ferretdb-2"}[random.IntN(2)])(ctx, w, random)
}

// component ends a server and brings it back.
func component(name string) func(context.Context, *world, *rand.Rand) (string, error) {
	return func(ctx context.Context, w *world, random *rand.Rand) (string, error) {
		w.server.Lock()
		defer w.server.Unlock()
		if random.IntN(3) == 0 {
			return name + ", in order", w.bringBack(name)
		}
		err := w.stack.command(ctx, "kill", name)
		pauseFor(ctx, between(random, time.Second, w.o.lock+2*time.Second))
		return name, errors.Join(err, w.bringBack(name))
	}
}

// back is how long a server may take to come back, on a machine that is busy.
const back = 5 * time.Minute

// bringBack restarts a server, and returns when it is well; or earlier, when
// it has been away and all servers answer. A fault is always mended, also when
// the run has been interrupted.
func (w *world) bringBack(name string) error {
	ctx, cancel := context.WithTimeout(context.Background(), back)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- w.stack.restart(ctx, name) }()
	for away := false; ; {
		select {
		case err := <-ended:
			return err
		case <-time.After(500 * time.Millisecond):
		}
		if !w.servers.answer(ctx) {
			away = true
		} else if away {
			cancel()
			<-ended //nolint:errcheck // it was cancelled
			return nil
		}
	}
}

func clock(ctx context.Context, w *world, random *rand.Rand) (string, error) {
	return atReplica(func(_ context.Context, w *world, r *replica, random *rand.Rand) error {
		r.terminate()
		r.offset = between(random, -10*time.Minute, 10*time.Minute).Round(time.Second)
		return w.replicas.start(r)
	})(ctx, w, random)
}

// all runs a fault at each replica and one at a server, at once.
func all(ctx context.Context, w *world, random *rand.Rand) (string, error) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	var hurt []string
	var errs []error
	one := func(n nemesis) {
		random := rand.New(rand.NewPCG(random.Uint64(), random.Uint64())) //nolint:gosec // choices that can be repeated
		wg.Go(func() {
			target, err := n.run(ctx, w, random)
			mu.Lock()
			defer mu.Unlock()
			hurt, errs = append(hurt, n.name+" "+target), append(errs, err)
			w.faults.injected[n.name+" (in all)"]++
		})
	}
	var single, shared []nemesis
	for _, n := range nemeses {
		switch {
		case n.name == "all":
		case n.shared:
			shared = append(shared, n)
		default:
			single = append(single, n)
		}
	}
	for range w.replicas.all {
		one(single[random.IntN(len(single))])
	}
	one(shared[random.IntN(len(shared))])
	wg.Wait()
	return strings.Join(hurt, ", "), errors.Join(errs...)
}
