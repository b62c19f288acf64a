package platform_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

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

// A replica that cannot tell what is paused claims nothing until it can.
//
// With services that start as if nothing were, the gateway is claimed.
func TestPausesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.gateway()
	others := documents.Open(w.db)
	must(t, others.PauseKind(t.Context(), resource.KindApiGateway, "ann", "testing"))
	pauses := w.db.Collection("Pause")
	unreadable := bson.D{{Key: "_id", Value: "X"}, {Key: "at", Value: "never"}}
	_, err := pauses.InsertOne(t.Context(), unreadable)
	must(t, err)
	r := w.replica("r1")
	time.Sleep(3 * time.Second)
	_, err = pauses.DeleteOne(t.Context(), unreadable)
	must(t, err)
	await(t, "the pause to be known", func() error {
		if _, is := r.docs.PauseOf(resource.KindApiGateway); !is {
			return errors.New("it is not")
		}
		return nil
	})
	time.Sleep(time.Second)
	if gw := w.get(id); gw.LockToken != 0 {
		t.Errorf("a document of the paused kind was claimed: %s", witness.Stands(&gw.Meta))
	}
	_, err = others.ResumeKind(t.Context(), resource.KindApiGateway)
	must(t, err)
	w.reaches(resource.Running, resource.PhaseStarted, id)
}

// heeds reports whether a replica knows of the pause.
func heeds(docs *documents.Documents, paused bool) error {
	if _, is := docs.PauseOf(resource.KindRuntimeDomain); is != paused {
		return fmt.Errorf("paused: %v", is)
	}
	return nil
}
