package kube_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/lockstep-io/lockstep/internal/driver/drivertest"
	"github.com/lockstep-io/lockstep/internal/driver/kube"
	"github.com/lockstep-io/lockstep/internal/resource"
)

// A zombie is a holder that was stopped and goes on after its claim has ended
// and a successor has claimed the document. The tests stop it just before a
// request of its own is sent, let the successor act through a client of its
// own on the same API server, and let it go on.

// zombie returns a client whose requests can be hooked into, and an owner with
// token 1 whose claim is lost once the returned flag is set.
func zombie(t testing.TB, gatewayID string) (*kube.Client, *drivertest.Faults, resource.Owner, *atomic.Bool) {
	t.Helper()
	faults, lost := &drivertest.Faults{}, &atomic.Bool{}
	owner := drivertest.Gateway(gatewayID, 1)
	owner.Verify = func(context.Context) error {
		if lost.Load() {
			return errLost
		}
		return nil
	}
	return drivertest.Client(t, kube.Options{WrapTransport: faults.Wrap}), faults, owner, lost
}

// Guards (spec 2, hole 2): a holder whose token is older than the object's is
// refused, whatever it wants, and finds out that it has lost the lock.
func TestZombieIsRefusedByTheToken(t *testing.T) {
	t.Parallel()
	id, c := drivertest.Namespace(t), drivertest.Client(t, kube.Options{})
	apply(t, c, id, "successor", 2)
	old := drivertest.Gateway(id, 1)

	_, err := c.Apply(t.Context(), old, configMap(id, "zombie"))
	if !errors.Is(err, kube.ErrStale) || !isLockLost(err) {
		t.Errorf("apply: %v, want ErrStale", err)
	}
	gone, err := c.Delete(t.Context(), old, configMapRef(id))
	if gone || !errors.Is(err, kube.ErrStale) {
		t.Errorf("delete: gone %v, %v, want ErrStale", gone, err)
	}
	if got := value(t, drivertest.Live(t, configMapRef(id))); got != "successor" {
		t.Errorf("value = %q", got)
	}
}

// Guards: a claim that is known to be lost leaves no trace on an object that it
// wanted to change, not even its token.
func TestLostClaimLeavesNoTrace(t *testing.T) {
	t.Parallel()
	id, c := drivertest.Namespace(t), drivertest.Client(t, kube.Options{})
	apply(t, c, id, "a", 1)
	before := drivertest.Live(t, configMapRef(id)).GetResourceVersion()
	owner := drivertest.Gateway(id, 5)
	owner.Verify = func(context.Context) error { return errLost }

	if _, err := c.Apply(t.Context(), owner, configMap(id, "b")); !errors.Is(err, errLost) {
		t.Errorf("apply: %v", err)
	}
	if gone, err := c.Delete(t.Context(), owner, configMapRef(id)); gone || !errors.Is(err, errLost) {
		t.Errorf("delete: gone %v, %v", gone, err)
	}
	if drivertest.Live(t, configMapRef(id)).GetResourceVersion() != before {
		t.Error("it was written to")
	}
}

// Guards: an update that was looked up before the successor's write and sent
// after it: the resourceVersion precondition refuses it, at either of its two
// requests.
func TestZombiesLateApplyIsRefused(t *testing.T) {
	t.Parallel()
	for name, isApply := range map[string]bool{"before its stake": false, "before its apply": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id, successor := drivertest.Namespace(t), drivertest.Client(t, kube.Options{})
			apply(t, successor, id, "first", 1)
			c, faults, owner, lost := zombie(t, id)
			faults.On(drivertest.Hook{Method: "PATCH", Path: resource.ConfigMapName(id), Apply: isApply, Before: func() {
				lost.Store(true)
				apply(t, successor, id, "successor", 2)
			}})
			_, err := c.Apply(t.Context(), owner, configMap(id, "zombie"))
			if !errors.Is(err, kube.ErrStale) {
				t.Errorf("err = %v, want ErrStale", err)
			}
			faults.Used(t)
			if got := value(t, drivertest.Live(t, configMapRef(id))); got != "successor" {
				t.Errorf("value = %q: the zombie's write landed", got)
			}
		})
	}
}

// Guards the hole that comes with not writing when nothing has changed: the
// successor finds the object as it wants it and relies on it, so there is no
// write of its own to conflict with; the zombie wants something else. The
// stake keeps its write out: the successor sees it and seals the object, or it
// comes too late and the claim is found lost.
func TestZombieCannotUndoWhatItsSuccessorOnlyLookedAt(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		isApply bool
		want    error
	}{
		"stopped before its stake": {false, errLost},
		"stopped after its stake":  {true, kube.ErrStale},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id, successor := drivertest.Namespace(t), drivertest.Client(t, kube.Options{})
			apply(t, successor, id, "wanted", 1)
			apply(t, successor, id, "wanted", 1)
			c, faults, owner, lost := zombie(t, id)
			faults.On(drivertest.Hook{Method: "PATCH", Path: resource.ConfigMapName(id), Apply: test.isApply, Before: func() {
				lost.Store(true)
				if applied := apply(t, successor, id, "wanted", 2); applied.Change != kube.Unchanged {
					t.Errorf("successor: change = %s, want unchanged", applied.Change)
				}
			}})
			_, err := c.Apply(t.Context(), owner, configMap(id, "zombie"))
			if !errors.Is(err, test.want) {
				t.Errorf("err = %v, want %v", err, test.want)
			}
			faults.Used(t)
			if got := value(t, drivertest.Live(t, configMapRef(id))); got != "wanted" {
				t.Errorf("value = %q: the zombie's write landed", got)
			}
		})
	}
}

// Guards the same for deletes: late, they must not take away what the
// successor found and wants to keep.
func TestZombieCannotDeleteWhatItsSuccessorOnlyLookedAt(t *testing.T) {
	t.Parallel()
	for name, method := range map[string]string{"stopped before its stake": "PATCH", "stopped after its stake": "DELETE"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id, successor := drivertest.Namespace(t), drivertest.Client(t, kube.Options{})
			apply(t, successor, id, "wanted", 1)
			apply(t, successor, id, "wanted", 1)
			c, faults, owner, lost := zombie(t, id)
			faults.On(drivertest.Hook{Method: method, Path: resource.ConfigMapName(id), Before: func() {
				lost.Store(true)
				apply(t, successor, id, "wanted", 2)
			}})
			gone, err := c.Delete(t.Context(), owner, configMapRef(id))
			if gone || (!errors.Is(err, kube.ErrStale) && !errors.Is(err, errLost)) {
				t.Errorf("gone %v, err %v", gone, err)
			}
			faults.Used(t)
			if drivertest.Live(t, configMapRef(id)) == nil {
				t.Error("the zombie's delete landed")
			}
		})
	}
}

// Guards (spec 2): a late delete must not remove what a successor has rebuilt:
// the object of that name is another one by then, and even under a token that
// is not newer its UID refuses the delete.
func TestZombiesLateDeleteSparesTheRebuiltObject(t *testing.T) {
	t.Parallel()
	for name, token := range map[string]int64{"newer token": 2, "same token, other UID": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id, successor := drivertest.Namespace(t), drivertest.Client(t, kube.Options{})
			apply(t, successor, id, "first", 1)
			c, faults, owner, lost := zombie(t, id)
			faults.On(drivertest.Hook{Method: "DELETE", Path: resource.ConfigMapName(id), Before: func() {
				if gone, err := successor.Delete(context.Background(), drivertest.Gateway(id, token), configMapRef(id)); !gone || err != nil {
					t.Errorf("successor: gone %v, %v", gone, err)
				}
				apply(t, successor, id, "rebuilt", token)
				lost.Store(true)
			}})
			gone, err := c.Delete(t.Context(), owner, configMapRef(id))
			if gone || err == nil {
				t.Errorf("gone %v, err %v, want an error", gone, err)
			}
			faults.Used(t)
			if got := value(t, drivertest.Live(t, configMapRef(id))); got != "rebuilt" {
				t.Errorf("value = %q", got)
			}
		})
	}
}
