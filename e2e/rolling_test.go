package e2e_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/pkg/engine"
)

// service is the replicas that traffic goes to, as a Service's endpoints are: a
// pod is taken out of them before it is asked to end.
type service struct {
	mu    sync.Mutex
	ready []*replica
	next  int
}

func (s *service) add(r *replica) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ready = append(s.ready, r)
}

// takeOldest takes the oldest replica out.
func (s *service) takeOldest() *replica {
	s.mu.Lock()
	defer s.mu.Unlock()
	oldest := s.ready[0]
	s.ready = s.ready[1:]
	return oldest
}

// replica is the one whose turn it is.
func (s *service) replica() *replica {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next++
	return s.ready[s.next%len(s.ready)]
}

// user makes gateways by the service and changes their states again and again.
// It stops at the first request that is not answered as it must be.
type user struct {
	service *service
	ids     []string
	wanted  map[string]engine.State
	asked   int
}

func (u *user) run(ctx context.Context) error {
	turns := []engine.State{resource.Stopped, resource.Running, resource.Restarting}
	u.wanted = map[string]engine.State{}
	for ; ctx.Err() == nil; u.asked++ {
		if len(u.ids) < 4 {
			var made resource.ApiGateway
			err := u.service.replica().try(http.MethodPost, "/v1/api-gateways", map[string]any{"name": "shop", "region": "eu"}, http.StatusCreated, &made)
			if err != nil {
				return err
			}
			u.ids = append(u.ids, made.ID)
			u.wanted[made.ID] = resource.Running
		}
		id := u.ids[u.asked%len(u.ids)]
		state := turns[(u.asked/len(u.ids))%len(turns)]
		err := u.service.replica().try(http.MethodPatch, "/v1/api-gateways/"+id, map[string]any{"state": state}, http.StatusAccepted, nil)
		if err != nil {
			return err
		}
		if state == resource.Restarting {
			state = resource.Running
		}
		u.wanted[id] = state
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
	return nil
}

// Three replicas are replaced one by one (a new one is ready before an old one
// is asked to end) while users make gateways and change them: every request is
// answered, no lock is lost or waited out, nothing is done by two at once, and
// every gateway ends where its user wants it.
//
// With a Run that leaves its claims as they are, a document waits for a lock of
// a replica that is gone: seen to fail.
func TestRollingUpdate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := &service{}
	for i := range 3 {
		s.add(w.ready(fmt.Sprintf("old-%d", i)))
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	users := make([]user, 3)
	errs := make([]error, len(users))
	var using sync.WaitGroup
	for i := range users {
		users[i].service = s
		using.Go(func() { errs[i] = users[i].run(ctx) })
	}
	var lost float64
	for i := range 3 {
		s.add(w.ready(fmt.Sprintf("new-%d", i)))
		old := s.takeOldest()
		lost += old.metric("lockstep_engine_lost_locks_total")
		old.signal(syscall.SIGTERM)
		if code := old.ends(); code != 0 {
			t.Errorf("%s: exit code %d: %s", old.name, code, tail(old.logged(), 10))
		}
		if held := w.lockedBy(old.name); len(held) > 0 {
			t.Errorf("%s is gone and holds %v", old.name, held)
		}
	}
	stop()
	using.Wait()
	var ids []string
	for i, u := range users {
		if errs[i] != nil {
			t.Errorf("a user: %v", errs[i])
		}
		t.Logf("user %d: %d requests", i, u.asked)
		for _, id := range u.ids {
			phase := resource.PhaseStarted
			if u.wanted[id] == resource.Stopped {
				phase = resource.PhaseStopped
			}
			w.reaches(u.wanted[id], phase, id)
		}
		ids = append(ids, u.ids...)
	}
	for _, r := range s.ready {
		lost += r.metric("lockstep_engine_lost_locks_total")
	}
	if lost > 0 {
		t.Errorf("%v locks were lost", lost)
	}
	s.replica().set(resource.Deleted, ids...)
	w.gone(ids...)
}
