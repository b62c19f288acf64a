package platform_test

import (
	"fmt"
	"testing"

	"github.com/lockstep-io/lockstep/internal/documents"
	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/internal/witness"
)

// While a kind is paused no replica claims any of its documents, one that
// begins meanwhile does not either, and other kinds go on. Once it is resumed,
// all goes on.
func TestPausedKind(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.replica("r1")
	id := w.gateway()
	w.reaches(resource.Running, resource.PhaseStarted, id)
	others := documents.Open(w.db) // as of another replica, which the first must hear of
	must(t, others.PauseKind(t.Context(), resource.KindRuntimeDomain, "ann", "testing"))
	await(t, "the pause to be heeded", func() error { return heeds(r.docs, true) })
	late := w.replica("r2")
	await(t, "the pause to be heeded by one that begins", func() error { return heeds(late.docs, true) })

	before := w.header(resource.KindRuntimeDomain, id).LockToken
	r.set(resource.Stopped, id)
	await(t, "the gateway to ask its domain to go", func() error {
		if h := w.header(resource.KindRuntimeDomain, id); h.State != resource.Inactive {
			return fmt.Errorf("it is %s", h.State)
		}
		return nil
	})
	tokens := w.get(id).LockToken
	await(t, "the gateway to look often", func() error {
		if now := w.get(id).LockToken; now < tokens+5 {
			return fmt.Errorf("%d times", now-tokens)
		}
		return nil
	})
	if after := w.header(resource.KindRuntimeDomain, id); after.LockToken != before || after.Phase != resource.PhaseCreated {
		t.Errorf("a document of the paused kind was claimed: %s", witness.Stands(&after.Meta))
	}
	_, err := others.ResumeKind(t.Context(), resource.KindRuntimeDomain)
	must(t, err)
	w.reaches(resource.Stopped, resource.PhaseStopped, id)
	r.set(resource.Deleted, id)
	w.gone(id)
}

// heeds reports whether a replica knows of the pause.
func heeds(docs *documents.Documents, paused bool) error {
	if _, is := docs.PauseOf(resource.KindRuntimeDomain); is != paused {
		return fmt.Errorf("paused: %v", is)
	}
	return nil
}
