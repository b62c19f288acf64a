package api

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
	"regexp"
	"runtime/debug"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
	"go.uber.org/zap"
)

// requestIDHeader names a request in logs. A client's own is kept.
const requestIDHeader = "X-Request-Id"

var requestID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// identify gives every request an id.
func (a *api) identify(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get(requestIDHeader)
		if !requestID.MatchString(id) {
			id = rand.Text()
		}
		r.Header.Set(requestIDHeader, id)
		w.Header().Set(requestIDHeader, id)
		next.ServeHTTP(w, r)
	})
}

// record logs every request once it is answered: changes for all to see, reads
// for those who debug.
func (a *api) record(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		answer := middleware.NewWrapResponseWriter(w, r.ProtoMajor)
		next.ServeHTTP(answer, r)
		log := a.log.Info
		if r.Method == http.MethodGet {
			log = a.log.Debug
		}
		log("request",
			zap.String("method", r.Method),
			zap.String("route", chi.RouteContext(r.Context()).RoutePattern()),
			zap.String("path", r.URL.Path),
			zap.Int("status", answer.Status()),
			zap.Duration("took", time.Since(began)),
			zap.String("requestId", r.Header.Get(requestIDHeader)))
	})
}

// recover turns a panic into a problem, so that one request's fault stays its
// own.
func (a *api) recover(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			v := recover()
			if v == nil {
				return
			}
			if v == http.ErrAbortHandler { //nolint:errorlint // as net/http compares it
				panic(v)
			}
			a.log.Error("request panicked", zap.Any("panic", v), zap.ByteString("stack", debug.Stack()),
				zap.String("requestId", r.Header.Get(requestIDHeader)))
			writeProblem(w, fail(CodeInternal, "the service failed; its log says why"))
		}()
		next.ServeHTTP(w, r)
	})
}

// writeProblem answers with a problem outside of huma.
func writeProblem(w http.ResponseWriter, p *Problem) {
	for name, values := range p.headers {
		w.Header()[name] = values
	}
	w.Header().Set("Content-Type", p.ContentType(""))
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p)
}
