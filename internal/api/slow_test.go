package api_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-io/lockstep/internal/api"
	"github.com/lockstep-io/lockstep/internal/resource"
)

// A body that does not come holds nothing up for longer than a request may
// take, whoever would have read it: the repetition of requests, the decoder, or
// nobody.
//
// With no bound before the repetition's reading, or none for what nobody reads,
// the connection stays open.
func TestSlowBody(t *testing.T) {
	const timeout = 500 * time.Millisecond
	s := start(t, func(c *api.Config) { c.Timeout = timeout })
	for name, c := range map[string]struct {
		request string
		status  int
	}{
		"repeatable": {"POST /v1/api-gateways HTTP/1.1\r\nIdempotency-Key: k\r\n", http.StatusRequestTimeout},
		"plain":      {"POST /v1/api-gateways HTTP/1.1\r\n", http.StatusRequestTimeout},
		"unread":     {"GET /v1/regions HTTP/1.1\r\n", http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.http.URL, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := fmt.Fprintf(conn, "%sHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{", c.request); err != nil {
				t.Fatal(err)
			}
			if err := conn.SetReadDeadline(time.Now().Add(20 * timeout)); err != nil {
				t.Fatal(err)
			}
			answers := bufio.NewReader(conn)
			res, err := http.ReadResponse(answers, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			if res.StatusCode != c.status {
				t.Errorf("status %d, want %d", res.StatusCode, c.status)
			}
			if _, err := answers.WriteTo(discard{}); err != nil {
				t.Errorf("the connection stays open: %v", err)
			}
		})
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

// The time for a body ends with the body: what waits, or is watched, goes on for
// as long as it was asked to.
//
// With a deadline that is left behind the server takes the client to be gone.
func TestWaitOutlastsItsBody(t *testing.T) {
	const timeout = 500 * time.Millisecond
	s := start(t, func(c *api.Config) { c.Timeout = timeout })
	gw := s.gateway()
	path := "/v1/api-gateways/" + gw.ID
	s.settle(resource.KindApiGateway, gw.ID, resource.PhaseStarted)
	s.call("POST", path+"/functions", map[string]any{"name": "f", "code": "x"}).want(http.StatusCreated)
	done := make(chan *answer)
	go func() {
		done <- s.call("PATCH", path+"?wait=phase:Stopped&timeout=20s", map[string]any{"state": "Stopped"})
	}()
	go func() {
		done <- s.call("POST", path+"/functions/f/rollback?wait=settled&timeout=20s", map[string]any{"version": 1}, "Idempotency-Key", "k")
	}()
	s.eventually(func() bool {
		fn, err := s.docs.CloudFunctions.Get(context.Background(), gw.ID+"-f")
		return err == nil && fn.Version == 2 && s.read(gw.ID).State == resource.Stopped
	})
	time.Sleep(3 * timeout)
	s.settle(resource.KindApiGateway, gw.ID, resource.PhaseStopped)
	s.settle(resource.KindCloudFunction, gw.ID+"-f", resource.PhaseCreated)
	for range 2 {
		(<-done).want(http.StatusOK)
	}
}
