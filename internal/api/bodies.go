package api

import (
	"io"
	"net/http"
	"time"
)

// hurry bounds the time in which a request's body must come, whoever reads it:
// a client that sends it slowly, or not at all, would hold a goroutine for as
// long as it likes. The bound is on the body and not on the connection, and it
// ends with the body: the server takes a deadline that passes while a request is
// answered for a client that is gone, and would end waits by it.
func (a *api) hurry(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body == nil || r.Body == http.NoBody {
			next.ServeHTTP(w, r)
			return
		}
		b := &hurried{ReadCloser: r.Body, control: http.NewResponseController(w), timeout: a.Timeout}
		r.Body = b
		next.ServeHTTP(w, r)
		if !b.ended {
			b.bound(time.Now().Add(b.timeout)) // the server reads what is left of it
		}
	})
}

// hurried is a body that must have come some time after its first read.
type hurried struct {
	io.ReadCloser

	control      *http.ResponseController
	timeout      time.Duration
	begun, ended bool
}

// Read implements io.Reader.
func (b *hurried) Read(p []byte) (int, error) {
	if !b.begun {
		b.begun = true
		b.bound(time.Now().Add(b.timeout))
	}
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF { //nolint:errorlint // as io.Reader says
		b.ended = true
		b.bound(time.Time{})
	}
	return n, err
}

// bound sets the deadline. Connections without one have nothing to bound.
func (b *hurried) bound(at time.Time) { _ = b.control.SetReadDeadline(at) }
