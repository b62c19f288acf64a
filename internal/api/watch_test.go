package api_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/lockstep-io/lockstep/internal/api"
	"github.com/lockstep-io/lockstep/internal/resource"
)

// sse is one server-sent event.
type sse struct {
	name string
	doc  api.Watched
}

// watch opens a watch; its events come until the stream ends.
func (s *server) watch(id string) <-chan sse {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.http.URL+"/v1/api-gateways/"+id+"/watch", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	res, err := s.http.Client().Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "text/event-stream" {
		s.t.Fatalf("watch: status %d, %s", res.StatusCode, res.Header.Get("Content-Type"))
	}
	events := make(chan sse, 100)
	go func() {
		defer close(events)
		defer res.Body.Close()
		var e sse
		for lines := bufio.NewScanner(res.Body); lines.Scan(); {
			switch name, value, _ := strings.Cut(lines.Text(), ": "); name {
			case "event":
				e.name = value
			case "data":
				if err := json.Unmarshal([]byte(value), &e.doc); err != nil {
					s.t.Errorf("data %s: %v", value, err)
				}
				events <- e
				e = sse{}
			}
		}
	}()
	return events
}

func TestWatch(t *testing.T) {
	s := start(t)
	gw := s.gateway()
	path := "/v1/api-gateways/" + gw.ID
	s.call("POST", path+"/client-apps", map[string]any{"name": "web", "environment": "dev"}).want(http.StatusCreated)
	events := s.watch(gw.ID)
	if e := <-events; e.name != "document" || e.doc.ID != gw.ID || e.doc.Kind != resource.KindApiGateway || e.doc.Phase != resource.PhaseCreating {
		t.Fatalf("first event %+v", e)
	}
	if e := <-events; e.doc.Kind != resource.KindClientApp {
		t.Fatalf("second event %+v", e)
	}
	s.settle(resource.KindApiGateway, gw.ID, resource.PhaseStarted)
	if e := <-events; e.doc.ID != gw.ID || e.doc.Phase != resource.PhaseStarted || e.doc.History != nil {
		t.Fatalf("after a move: %+v", e)
	}
	if err := s.docs.ClientApps.DeleteMany(t.Context(), bson.D{}); err != nil {
		t.Fatal(err)
	}
	if e := <-events; e.name != "gone" || e.doc.ID != gw.ID+"-dev-web" {
		t.Fatalf("after a removal: %+v", e)
	}
	if err := s.docs.ApiGateways.DeleteMany(t.Context(), bson.D{}); err != nil {
		t.Fatal(err)
	}
	if e := <-events; e.name != "gone" || e.doc.ID != gw.ID {
		t.Fatalf("after the removal of the gateway: %+v", e)
	}
	if e, open := <-events; open {
		t.Fatalf("the stream goes on: %+v", e)
	}
	s.call("GET", path+"/watch", nil).problem(http.StatusNotFound, api.CodeNotFound)
}

func TestWatchEndsWithTheServer(t *testing.T) {
	closing := make(chan struct{})
	s := start(t, func(c *api.Config) { c.Done = closing })
	events := s.watch(s.gateway().ID)
	<-events
	close(closing)
	if e, open := <-events; open {
		t.Fatalf("the stream goes on: %+v", e)
	}
}

func TestEvents(t *testing.T) {
	s := start(t)
	gw := s.gateway()
	path := "/v1/api-gateways/" + gw.ID
	s.settle(resource.KindApiGateway, gw.ID, resource.PhaseCreated)
	s.call("POST", path+"/client-apps", map[string]any{"name": "web", "environment": "dev"}).want(http.StatusCreated)
	s.settle(resource.KindClientApp, gw.ID+"-dev-web", resource.PhaseCreated)
	s.call("DELETE", path, nil).want(http.StatusAccepted)

	all := as[api.Page[api.Event]](s.call("GET", path+"/events", nil).want(http.StatusOK))
	var told []string
	for _, e := range all.Items {
		told = append(told, strings.TrimSpace(string(e.Sort)+" "+string(e.Kind)+" "+e.Action+string(e.To)))
	}
	want := "asked ApiGateway createGateway, moved ApiGateway Created, asked ClientApp createClientApp, moved ClientApp Created, asked ApiGateway deleteGateway"
	if got := strings.Join(told, ", "); got != want {
		t.Fatalf("events: %s", got)
	}

	var paged []api.Event
	for cursor := ""; ; {
		page := as[api.Page[api.Event]](s.call("GET", path+"/events?limit=2"+cursor, nil).want(http.StatusOK))
		paged = append(paged, page.Items...)
		if page.NextCursor == "" {
			break
		}
		cursor = "&cursor=" + page.NextCursor
	}
	if len(paged) != len(all.Items) || paged[4].Action != "deleteGateway" {
		t.Fatalf("in pages: %+v", paged)
	}
	since := as[api.Page[api.Event]](s.call("GET", path+"/events?since="+all.Items[3].At.Format("2006-01-02T15:04:05.000Z"), nil).want(http.StatusOK))
	if len(since.Items) != 1 {
		t.Fatalf("since: %+v", since)
	}
	s.call("GET", path+"/events?cursor=djE6YWFh", nil).problem(http.StatusUnprocessableEntity, api.CodeValidation)
}
