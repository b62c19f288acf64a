package kube_test

import (
	"context"
	"errors"
	"testing"

	"github.com/lockstep-io/lockstep/internal/driver/drivertest"
	"github.com/lockstep-io/lockstep/internal/driver/kube"
)

// Guards (spec 1, fault 2): a create that outlives a delete. The document was
// deleted, and its object observed to be gone, while the create was on its way;
// what it makes must not stay.
func TestCreateAfterALostLockIsTakenBack(t *testing.T) {
	t.Parallel()
	id := drivertest.Namespace(t)
	c, faults, owner, lost := zombie(t, id)
	faults.On(drivertest.Hook{Method: "POST", Path: "/configmaps", Before: func() { lost.Store(true) }})

	_, err := c.Apply(t.Context(), owner, configMap(id, "zombie"))
	if !errors.Is(err, errLost) {
		t.Errorf("err = %v, want what Verify said", err)
	}
	faults.Used(t)
	if live := drivertest.Live(t, configMapRef(id)); live != nil {
		t.Errorf("the object has stayed: %v", live.GetAnnotations())
	}
}

// Guards: the same although the claim's own context ends with the claim.
func TestTakingBackOutlivesTheContext(t *testing.T) {
	t.Parallel()
	id, c := drivertest.Namespace(t), drivertest.Client(t, kube.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	owner := drivertest.Gateway(id, 1)
	owner.Verify = func(context.Context) error { cancel(); return errLost }

	if _, err := c.Apply(ctx, owner, configMap(id, "zombie")); !errors.Is(err, errLost) {
		t.Errorf("err = %v", err)
	}
	if drivertest.Live(t, configMapRef(id)) != nil {
		t.Error("the object has stayed")
	}
}

// Guards the other side of taking back: a successor that has found the object
// and relies on it keeps it.
func TestTakingBackSparesWhatASuccessorAdopted(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"as it is": "same", "changed": "other"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id, c := drivertest.Namespace(t), drivertest.Client(t, kube.Options{})
			owner := drivertest.Gateway(id, 1)
			owner.Verify = func(context.Context) error {
				apply(t, c, id, want, 2)
				return errLost
			}
			if _, err := c.Apply(t.Context(), owner, configMap(id, "same")); !errors.Is(err, errLost) {
				t.Errorf("err = %v", err)
			}
			if got := value(t, drivertest.Live(t, configMapRef(id))); got != want {
				t.Errorf("value = %q, want %q", got, want)
			}
		})
	}
}

// Guards: a create that finds that someone was faster looks again instead of
// failing for ever, or of taking what a newer claim has made for its own.
func TestCreateThatComesSecond(t *testing.T) {
	t.Parallel()
	id, successor := drivertest.Namespace(t), drivertest.Client(t, kube.Options{})
	c, faults, owner, _ := zombie(t, id)
	faults.On(drivertest.Hook{Method: "POST", Path: "/configmaps", Before: func() {
		apply(t, successor, id, "successor", 2)
	}})
	if _, err := c.Apply(t.Context(), owner, configMap(id, "zombie")); !errors.Is(err, kube.ErrStale) {
		t.Errorf("err = %v, want ErrStale", err)
	}
	faults.Used(t)
	if got := value(t, drivertest.Live(t, configMapRef(id))); got != "successor" {
		t.Errorf("value = %q", got)
	}
}
