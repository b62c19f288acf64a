package client

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// FuzzProblem feeds answers of any sort to what reads problems.
func FuzzProblem(f *testing.F) {
	f.Add(503, `{"code":"unavailable","detail":"x"}`, "5")
	f.Add(502, "<html>", "")
	f.Add(422, `{"code":"x","errors":[{"location":1}]}`, "-1")
	f.Fuzz(func(t *testing.T, status int, body, retryAfter string) {
		p := problem(&http.Response{
			StatusCode: status, Body: io.NopCloser(strings.NewReader(body)), Header: http.Header{"Retry-After": {retryAfter}},
		})
		if p.Error() == "" || p.Status != status {
			t.Fatalf("%+v", p)
		}
	})
}

// FuzzEvents feeds streams of any sort to what reads a watch's events.
func FuzzEvents(f *testing.F) {
	f.Add("event: document\ndata: {\"kind\":\"Stage\",\"id\":\"a\"}\n\nevent: gone\ndata: {\"kind\":\"Stage\",\"id\":\"a\"}\n\n")
	f.Add(": still here\n\n")
	f.Add("data\n\ndata:\n\n")
	f.Fuzz(func(_ *testing.T, stream string) {
		w := &watch{live: map[[2]string]bool{}}
		_ = events(strings.NewReader(stream), func(name string, data []byte) error {
			_, err := w.event(name, data)
			return err
		})
	})
}
