package client_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"testing"

	"github.com/lockstep-io/lockstep/pkg/client"
)

// Do gives any answer as it is, and errors as all methods do.
func TestDo(t *testing.T) {
	_, c := start(t)
	raw, header, err := c.Do(t.Context(), http.MethodPost, "/v1/api-gateways", nil, map[string]any{"name": "shop", "region": "eu"})
	var gw struct{ ID string }
	if err != nil || json.Unmarshal(raw, &gw) != nil || gw.ID == "" || header.Get("ETag") != `"1"` {
		t.Fatalf("%s, %v, %v", raw, header, err)
	}
	raw, _, err = c.Do(t.Context(), http.MethodGet, "/v1/api-gateways", url.Values{"name": {"other"}}, nil)
	if err != nil || string(raw) != "{\"items\":[]}\n" {
		t.Errorf("%s, %v", raw, err)
	}
	if _, _, err := c.Do(t.Context(), http.MethodGet, "/v1/api-gateways/zzzzzz", nil, nil); !client.IsNotFound(err) {
		t.Errorf("%v", err)
	}
}
