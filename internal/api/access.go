package api

import (
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humachi"
	"github.com/go-chi/httprate"
)

// guarded are the paths on which callers are known and counted: not probes,
// metrics and the API's description.
func guarded(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/v1/") }

// know finds out who makes a request. Whether that is enough is for the route
// to say.
func (a *api) know(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !guarded(r) {
			next.ServeHTTP(w, r)
			return
		}
		caller, err := a.Auth.Authenticate(r)
		if err != nil {
			writeProblem(w, a.problem(r.Context(), "authenticate", err))
			return
		}
		next.ServeHTTP(w, r.WithContext(withInfo(r.Context(), requestInfo{id: r.Header.Get(requestIDHeader), caller: caller})))
	})
}

// authorize refuses callers whose role is too small.
func (a *api) authorize(role Role) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		_, w := humachi.Unwrap(ctx)
		switch caller := callerOf(ctx.Context()); {
		case caller.Name == "":
			writeProblem(w, Unauthenticated("this needs a token: send it as Authorization: Bearer TOKEN"))
		case caller.Role == Anyone:
			writeProblem(w, fail(CodeForbidden, "%s is known, but nothing is granted to it: ask an operator for a role", caller.Name))
		case caller.Role < role:
			writeProblem(w, fail(CodeForbidden, "%s has the role %s: this needs the role %s", caller.Name, caller.Role, role))
		default:
			next(ctx)
		}
	}
}

// strangersShare is how many times the limit of one caller all requests from
// one address may make, whoever they come from: it bounds guessing of tokens.
const strangersShare = 10

// limits returns the middleware before and after the caller is known: a limit
// on each address, and one on each caller.
func (a *api) limits() (before, after func(http.Handler) http.Handler) {
	if a.RateLimit < 0 {
		same := func(next http.Handler) http.Handler { return next }
		return same, same
	}
	limit := func(n int, key httprate.KeyFunc) func(http.Handler) http.Handler {
		counted := httprate.LimitBy(n, time.Minute, key, httprate.WithLimitHandler(tooMany))
		return func(next http.Handler) http.Handler {
			limited := counted(next)
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if guarded(r) {
					limited.ServeHTTP(w, r)
				} else {
					next.ServeHTTP(w, r)
				}
			})
		}
	}
	return limit(a.RateLimit*strangersShare, address), limit(a.RateLimit, func(r *http.Request) (string, error) {
		if caller := callerOf(r.Context()); caller.Name != "" {
			return "caller " + caller.Name, nil
		}
		return address(r)
	})
}

func address(r *http.Request) (string, error) {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	return "address " + host, nil
}

func tooMany(w http.ResponseWriter, _ *http.Request) {
	writeProblem(w, fail(CodeRateLimited, "too many requests: go on after %s seconds", w.Header().Get("Retry-After")))
}
