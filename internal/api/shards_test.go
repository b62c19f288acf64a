package api_test

import (
	"net/http"
	"reflect"
	"testing"
	"time"

	"github.com/lockstep-io/lockstep/internal/api"
	"github.com/lockstep-io/lockstep/internal/api/auth"
)

func TestShards(t *testing.T) {
	tokens, known := users(map[string]auth.Grant{
		"op": {Role: "viewer", Tenant: "*"}, "ann": {Role: "admin", Tenant: "acme"},
	})
	joined := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	replica := func(name string, shards ...int) api.Replica {
		return api.Replica{Name: name, Since: joined, SeenAt: joined.Add(time.Hour), Shards: shards}
	}
	var seen api.Shards
	ok := false
	s := start(t, known, func(c *api.Config) { c.Shards = func() (api.Shards, bool) { return seen, ok } })
	op := s.as(tokens["op"])

	op.call("GET", "/v1/shards", nil).problem(http.StatusServiceUnavailable, api.CodeUnavailable)
	ok = true
	for _, c := range []struct {
		live    []api.Replica
		divided bool
	}{
		{[]api.Replica{replica("r-1", 0, 1, 2, 3)}, false},
		{[]api.Replica{replica("r-1", 0, 2), replica("r-2", 1, 3)}, true},
	} {
		seen = api.Shards{SeenBy: "r-1", Count: 4, Moved: 7, Items: c.live}
		got := as[api.Shards](op.call("GET", "/v1/shards", nil).want(http.StatusOK))
		if got.Divided != c.divided || !reflect.DeepEqual(got.Items, c.live) || got.Moved != 7 || got.Count != 4 || got.SeenBy != "r-1" {
			t.Errorf("%d live: %+v", len(c.live), got)
		}
		if off := time.Since(got.At).Abs(); off > time.Minute {
			t.Errorf("the time is %s off", off)
		}
	}
	s.as(tokens["ann"]).call("GET", "/v1/shards", nil).problem(http.StatusForbidden, api.CodeForbidden)
}

// An API that is not told of replicas divides nothing among them.
func TestWithoutShards(t *testing.T) {
	got := as[api.Shards](start(t).call("GET", "/v1/shards", nil).want(http.StatusOK))
	if got.Divided || got.Items == nil || len(got.Items) > 0 {
		t.Errorf("%+v", got)
	}
}
