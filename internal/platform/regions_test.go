package platform_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-io/lockstep/internal/platform"
	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/internal/testenv"
	"github.com/lockstep-io/lockstep/internal/witness"
)

// Two regions at once: one that cannot be reached, from the start of the
// replica or later, holds up nothing of the other, and loses nothing of its
// own.
//
// With a Run that waits for each region's watches before it starts the task
// services, the first part fails: seen.
func TestRegionThatCannotBeReached(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(r *resource.Region) { r.Name = "eu" })
	line, kubeconfig := testenv.KubeLine(t)
	far := w.region
	far.Name, far.Kubeconfig = "us", kubeconfig
	line.Cut()
	r := w.replica("r", func(s *settings) { s.regions = append(s.regions, far) })

	near, away := w.gateway(), w.gateway(func(gw *resource.ApiGateway) { gw.Region = "us" })
	awaitWithin(t, time.Minute, "the gateway of the region that answers to be Started", func() error {
		if gw := w.get(near); gw.Phase != resource.PhaseStarted {
			return errors.New(witness.Stands(&gw.Meta))
		}
		return nil
	})
	if err := r.Ready(t.Context()); err != nil {
		t.Errorf("one region's outage is everybody's: %v", err)
	}
	w.reports(resource.KindApiGateway, away, 1)
	line.Mend()
	w.soon(away)
	w.reaches(resource.Running, resource.PhaseStarted, away)

	line.Cut()
	w.set(resource.Deleted, near, away)
	w.gone(near)
	await(t, "the other to fail at being deleted", func() error {
		if gw := w.get(away); gw.Phase != resource.PhaseDeleting && gw.LastError == nil {
			return errors.New(witness.Stands(&gw.Meta))
		}
		return nil
	})
	line.Mend()
	w.soon(away)
	w.gone(away)
}

// A replica that has reached no region since its start is not ready: most
// likely it is configured wrongly, and the replicas before it should stay. Once
// it was ready no region's outage changes that; its own end does, at once.
func TestReady(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(r *resource.Region) { r.Name = "eu" })
	line, kubeconfig := testenv.KubeLine(t)
	w.region.Kubeconfig = kubeconfig
	line.Cut()
	r := w.replica("r")
	await(t, "the replica to say that it reaches no region", func() error {
		if err := r.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), `region "eu"`) {
			return fmt.Errorf("ready: %w", err)
		}
		return nil
	})
	line.Mend()
	await(t, "the replica to be ready", func() error { return r.Ready(t.Context()) })
	line.Cut()
	if err := r.Ready(t.Context()); err != nil {
		t.Errorf("an outage makes it unready: %v", err)
	}
	r.stop()
	if err := r.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "shutting down") {
		t.Errorf("ready: %v, want it to be shutting down", err)
	}
}

// A replica that has not made the indexes yet, or cannot, runs no task service:
// a rollout must not go on past it, though its database answers.
func TestNotReadyBeforeTheIndexes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p, err := platform.New(w.docs, nil, platform.Options{})
	must(t, err)
	if err := p.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "not prepared yet") {
		t.Errorf("ready before Run: %v", err)
	}
}

// A gateway of a region that no replica has says so, and is not lost: as soon
// as the region is configured it goes on.
func TestRegionThatIsNotConfigured(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(r *resource.Region) { r.Name = "eu" })
	first := w.replica("first")
	id := w.gateway(func(gw *resource.ApiGateway) { gw.Region = "mars" })
	w.reports(resource.KindApiGateway, id, 1)
	message := w.get(id).LastError.Message
	if want := `region "mars" is not configured on this replica (it has eu)`; !strings.Contains(message, want) {
		t.Errorf("it says %q", message)
	}
	first.stop()
	mars := w.region
	mars.Name = "mars"
	w.replica("second", func(s *settings) { s.regions = append(s.regions, mars) })
	w.soon(id)
	w.reaches(resource.Running, resource.PhaseStarted, id)
}

// Spec 2: work longer than the lock. The API server takes twice the lock
// timeout for one answer; the holder renews meanwhile, so that no other replica
// takes the document, and nothing is done twice.
//
// Without the renewal (keepRenewed) the claim is lost and the token rises:
// seen to fail.
func TestWorkLongerThanTheLock(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	slow := make(chan struct{}, 8)
	takesLong := func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
		slow <- struct{}{}
		select {
		case <-time.After(2 * lockTimeout):
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
		return next.RoundTrip(r)
	}
	isCreate := func(r *http.Request) bool {
		return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/namespaces")
	}
	for i := range 2 {
		r := w.replica(fmt.Sprintf("replica-%d", i), withLockTimeout(lockTimeout))
		r.http.on(isCreate, takesLong)
	}
	id := w.gateway()
	<-slow
	token := w.get(id).LockToken
	await(t, "the namespace to be there", func() error {
		gw := w.get(id)
		if gw.LockToken != token && gw.Step == "" {
			t.Fatalf("it was taken by another: %s", witness.Stands(&gw.Meta))
		}
		if gw.Step == "" {
			return errors.New(witness.Stands(&gw.Meta))
		}
		return nil
	})
	if len(slow) > 0 {
		t.Errorf("the namespace was created %d times more", len(slow))
	}
	if gw := w.get(id); gw.LockToken != token && gw.WaitingFor == "" {
		t.Logf("it has moved on: %s", witness.Stands(&gw.Meta))
	}
}
