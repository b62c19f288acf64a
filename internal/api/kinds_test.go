package api_test

import (
	"net/http"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/lockstep-io/lockstep/internal/api"
	"github.com/lockstep-io/lockstep/internal/api/auth"
	"github.com/lockstep-io/lockstep/internal/documents"
	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/internal/testenv"
	"github.com/lockstep-io/lockstep/pkg/engine"
)

// A pause of a kind is kept in the database, said of each document that it
// keeps from going on, and an operator's to make.
func TestPauseOfAKind(t *testing.T) {
	tokens, known := users(map[string]auth.Grant{
		"op": {Role: "admin", Tenant: "*"}, "ann": {Role: "admin", Tenant: "acme"},
	})
	s := start(t, known)
	op, ann := s.as(tokens["op"]), s.as(tokens["ann"])
	gw := op.gateway()
	why := map[string]any{"reason": "the cluster is $moved"}
	condition := func() engine.Condition {
		t.Helper()
		return as[api.Document](op.call("GET", "/v1/documents/ApiGateway/"+gw.ID, nil).want(http.StatusOK)).Condition
	}
	before := condition()
	ann.call("POST", "/v1/kinds/ApiGateway/pause", why).problem(http.StatusForbidden, api.CodeForbidden)
	op.call("POST", "/v1/kinds/Database/pause", why).problem(http.StatusConflict, api.CodeConflict)
	op.call("POST", "/v1/kinds/ApiGateway/resume", why).problem(http.StatusConflict, api.CodeConflict)
	for range 2 {
		info := as[api.KindInfo](op.call("POST", "/v1/kinds/ApiGateway/pause", why).want(http.StatusAccepted))
		if info.Paused == nil || info.Paused.By != "op" || info.Paused.Reason != "the cluster is $moved" || info.Paused.At.IsZero() {
			t.Errorf("paused: %+v", info.Paused)
		}
	}
	if got := condition(); got != api.IsPaused {
		t.Errorf("a document of a paused kind is %s", got)
	}
	var listed *documents.KindPause
	for _, info := range as[struct{ Items []api.KindInfo }](op.call("GET", "/v1/kinds", nil).want(http.StatusOK)).Items {
		if info.Paused != nil && info.Kind == resource.KindApiGateway {
			listed = info.Paused
		} else if info.Paused != nil {
			t.Errorf("%s is paused, too", info.Kind)
		}
	}
	if listed == nil {
		t.Error("the list does not show the pause")
	}
	op.call("POST", "/v1/kinds/ApiGateway/resume", why).want(http.StatusAccepted)
	if got := condition(); got != before {
		t.Errorf("after the pause it is %s, was %s", got, before)
	}
}

// A pause is answered by what was written: that others cannot be read is no
// reason to say that it was not.
//
// With another read after the write it is made, and answered with an error.
func TestPauseIsAnsweredByWhatWasWritten(t *testing.T) {
	db := testenv.Database(t)
	docs := documents.Open(db)
	s := start(t, func(c *api.Config) { c.Documents = docs })
	why := map[string]any{"reason": "testing"}
	s.call("POST", "/v1/kinds/Stage/pause", why).want(http.StatusAccepted)
	_, err := db.Collection("Pause").InsertOne(t.Context(), bson.D{{Key: "_id", Value: "X"}, {Key: "at", Value: "never"}})
	if err != nil {
		t.Fatal(err)
	}
	if docs.ReadPauses(t.Context()) == nil {
		t.Fatal("it can be read")
	}
	if info := as[api.KindInfo](s.call("POST", "/v1/kinds/ApiGateway/pause", why).want(http.StatusAccepted)); info.Paused == nil || info.Paused.At.IsZero() {
		t.Errorf("paused: %+v", info.Paused)
	}
	if info := as[api.KindInfo](s.call("POST", "/v1/kinds/ApiGateway/resume", why).want(http.StatusAccepted)); info.Paused != nil {
		t.Errorf("resumed: %+v", info.Paused)
	}
	if _, is := docs.PauseOf(resource.KindStage); !is {
		t.Error("what was known of another kind is forgotten")
	}
}
