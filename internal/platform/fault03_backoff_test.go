package platform_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-io/lockstep/internal/driver/kube"
	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/internal/witness"
)

// Fault 3: a child delete that is written anew each tick resets the child's
// own backoff. The parent asks its RuntimeDomain to go again and again, while
// the domain waits, or fails: its wait goes on from when it began, its errors
// add up, and its generation is that of the first asking.
//
// The protection is in documents.Ask: only documents in another state are
// changed. Without it the generation rises with each of the parent's looks, and
// the wait and the errors begin anew: seen to fail.
func TestAskingAgainResetsNoBackoff(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.replica("r")
	waiting, failing := w.gateway(), w.gateway()
	w.reaches(resource.Running, resource.PhaseStarted, waiting, failing)

	route := in(kube.ApisixRoute, waiting, resource.EnvironmentName(waiting, "dev"))
	w.hold(route)
	off := r.http.on(func(request *http.Request) bool {
		return about(failing)(request) && strings.HasSuffix(request.URL.Path, "/"+resource.EnvironmentName(failing, "dev"))
	}, fail(http.StatusInternalServerError, "no leader"))
	r.set(resource.Deleted, waiting, failing)

	began := w.asked(waiting, func(h *resource.Header) bool { return h.WaitingFor != "" })
	fails := w.asked(failing, func(h *resource.Header) bool { return h.Attempts > 0 })
	looks := w.get(waiting).LockToken + w.get(failing).LockToken
	attempts := 0
	// Until the parents have looked often, and the child has failed often.
	for deadline := time.Now().Add(patience); ; pause(20 * time.Millisecond) {
		now := w.header(resource.KindRuntimeDomain, waiting)
		if now.Generation != began.Generation || !now.WaitingSince.Equal(began.WaitingSince) || !now.PhaseAt.Equal(began.PhaseAt) {
			t.Fatalf("its wait began anew: generation %d and since %s, before %d and %s",
				now.Generation, now.WaitingSince, began.Generation, began.WaitingSince)
		}
		failed := w.header(resource.KindRuntimeDomain, failing)
		if failed.Generation != fails.Generation || failed.Attempts < attempts {
			t.Fatalf("%d errors were forgotten: %s", attempts, witness.Stands(&failed.Meta))
		}
		attempts = failed.Attempts
		more := w.get(waiting).LockToken + w.get(failing).LockToken - looks
		if more >= 10 && attempts >= 3 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("only %d looks of the parents and %d errors", more, attempts)
		}
	}
	off()
	w.soon(failing)
	w.release(route)
	w.gone(waiting, failing)
}

// asked waits until a gateway's domain was asked to go and has come so far.
func (w *world) asked(id string, far func(*resource.Header) bool) (found *resource.Header) {
	w.t.Helper()
	await(w.t, "the domain of "+id+" to be on its way", func() error {
		found = w.header(resource.KindRuntimeDomain, id)
		if found.State != resource.Deleted || found.Phase != resource.PhaseDeleting || !far(found) {
			return errors.New(witness.Stands(&found.Meta))
		}
		return nil
	})
	return found
}

// The parent's own wait grows meanwhile: it does not ask at every tick.
func TestWaitingParentAsksLessAndLess(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.replica("r")
	id := w.gateway()
	w.reaches(resource.Running, resource.PhaseStarted, id)
	route := in(kube.ApisixRoute, id, resource.EnvironmentName(id, "dev"))
	w.hold(route)
	r.set(resource.Deleted, id)
	w.asked(id, func(h *resource.Header) bool { return h.WaitingFor != "" })
	await(t, "the gateway to have waited", func() error {
		gw := w.get(id)
		if gw.Step != "runtime domain" || time.Since(gw.WaitingSince) < 8*time.Second {
			return errors.New(witness.Stands(&gw.Meta))
		}
		return nil
	})
	// After 8 s of waiting the looks are 0.8 s apart, after 12 s 1.2 s: five in
	// four seconds. At every tick and hint there would be more.
	before := w.get(id).LockToken
	holds(t, 4*time.Second, "the gateway's looks", func() error {
		if n := w.get(id).LockToken - before; n > 6 {
			return fmt.Errorf("%d looks in less than four seconds", n)
		}
		return nil
	})
	w.release(route)
	w.gone(id)
}
