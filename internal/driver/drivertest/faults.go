package drivertest

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// Faults is a transport that sits between a client and the real API server. A
// test hangs hooks into it: to fail a request, or to do something just before
// it is sent, which is when a stopped holder would be overtaken.
type Faults struct {
	next http.RoundTripper

	mu    sync.Mutex
	hooks []*Hook
}

// Hook acts on the first request that matches, or on all if Always.
type Hook struct {
	// Method and Path select requests: Path is the end of the URL's path.
	Method, Path string
	// Apply selects, of the patches, server-side applies or the others.
	Apply bool
	// Always keeps the hook after it has acted.
	Always bool
	// Before runs before the request is sent.
	Before func()
	// Answer, if set, is what the client gets; the request is not sent. An
	// error stands for a broken connection.
	Answer func() (*http.Response, error)
	// Hang leaves the request without an answer until its context ends.
	Hang bool

	used bool
}

const applyContentType = "application/apply-patch+yaml"

// Wrap is for kube.Options.WrapTransport.
func (f *Faults) Wrap(next http.RoundTripper) http.RoundTripper {
	f.next = next
	return f
}

// On adds a hook.
func (f *Faults) On(hook Hook) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hooks = append(f.hooks, &hook)
}

// Clear removes all hooks.
func (f *Faults) Clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hooks = nil
}

// WrappedRoundTripper lets idle connections be closed through it.
func (f *Faults) WrappedRoundTripper() http.RoundTripper { return f.next }

// RoundTrip implements http.RoundTripper.
func (f *Faults) RoundTrip(request *http.Request) (*http.Response, error) {
	if hook := f.match(request); hook != nil {
		if hook.Before != nil {
			hook.Before()
		}
		if hook.Hang {
			<-request.Context().Done()
			return nil, request.Context().Err()
		}
		if hook.Answer != nil {
			response, err := hook.Answer()
			if response != nil {
				response.Request = request
			}
			return response, err
		}
	}
	return f.next.RoundTrip(request)
}

func (f *Faults) match(request *http.Request) *Hook {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, hook := range f.hooks {
		isApply := strings.HasPrefix(request.Header.Get("Content-Type"), applyContentType)
		if (hook.used && !hook.Always) || hook.Method != request.Method || hook.Apply != isApply ||
			!strings.HasSuffix(request.URL.Path, hook.Path) {
			continue
		}
		hook.used = true
		return hook
	}
	return nil
}

// Used reports whether all hooks have acted: a test that hangs in a hook which
// no request meets proves nothing.
func (f *Faults) Used(t testing.TB) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, hook := range f.hooks {
		if !hook.used {
			t.Errorf("no request met the hook on %s …%s", hook.Method, hook.Path)
		}
	}
}

// Reply answers with a status and a body, as a server or a proxy in front of
// it would.
func Reply(status int, contentType, body string) func() (*http.Response, error) {
	return func() (*http.Response, error) {
		return &http.Response{
			StatusCode: status, Status: http.StatusText(status), ProtoMajor: 1, ProtoMinor: 1,
			Header: http.Header{"Content-Type": {contentType}},
			Body:   io.NopCloser(bytes.NewBufferString(body)), ContentLength: int64(len(body)),
		}, nil
	}
}

// Broken is a connection that fails.
func Broken(err error) func() (*http.Response, error) {
	return func() (*http.Response, error) { return nil, err }
}
