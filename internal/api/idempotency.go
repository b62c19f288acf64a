package api

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"regexp"
	"strings"

	"github.com/go-chi/chi/v5/middleware"
	"go.uber.org/zap"

	"github.com/lockstep-io/lockstep/internal/documents"
)

// RepeatParams make a request repeatable.
type RepeatParams struct {
	Key string `header:"Idempotency-Key" maxLength:"128" pattern:"^[!-~]+$" patternDescription:"printable characters without spaces" doc:"Makes the request repeatable for a day: the same request with the same key makes nothing twice, and gets the same answer."`
}

const (
	keyHeader      = "Idempotency-Key"
	replayedHeader = "Idempotency-Replayed"
)

var repeatKey = regexp.MustCompile(`^[!-~]{1,128}$`)

// repeatedHeaders are kept with an answer.
var repeatedHeaders = []string{"Content-Type", "ETag", "Location"}

type repeatKeyInContext struct{}

// repeatOf returns the repeatable request that is being answered, or nil.
func repeatOf(ctx context.Context) *documents.Request {
	r, _ := ctx.Value(repeatKeyInContext{}).(*documents.Request)
	return r
}

// repeat answers requests with a key once, and repetitions with the answer
// that was given. The insert of the record decides who answers. A replica that
// goes down in between is taken over from; what the request makes is chosen
// before it is made, so that the successor makes the same and not another.
func (a *api) repeat(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := r.Header.Get(keyHeader)
		if r.Method != http.MethodPost || !guarded(r) || !repeatKey.MatchString(key) {
			next.ServeHTTP(w, r)
			return
		}
		body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
		if err != nil {
			writeProblem(w, fail(CodeInvalidRequest, "the body could not be read"))
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		caller := callerOf(r.Context())
		id := digest(caller.Tenant, caller.Name, r.URL.Path, key)
		record, mine, err := a.docs.BeginRequest(r.Context(), id, digest(r.URL.RawQuery, string(body)), 2*a.Timeout)
		switch {
		case err != nil:
			writeProblem(w, a.problem(r.Context(), "repeat", err))
		case mine:
			a.answerOnce(w, r, next, record)
		case record.Digest != digest(r.URL.RawQuery, string(body)):
			writeProblem(w, fail(CodeKeyReused, "another request was made with this %s: use a new key for a new request", keyHeader))
		case record.Status == 0:
			writeProblem(w, fail(CodeInProgress, "this request is being answered: repeat it for the answer").retryAfter("1"))
		default:
			replay(w, record)
		}
	})
}

// answerOnce answers a request and keeps the answer if something was made.
// After any other answer, a repetition tries again.
func (a *api) answerOnce(w http.ResponseWriter, r *http.Request, next http.Handler, record *documents.Request) {
	answer := middleware.NewWrapResponseWriter(w, r.ProtoMajor)
	var copied bytes.Buffer
	answer.Tee(&copied)
	done := false
	ctx := context.WithoutCancel(r.Context())
	defer func() {
		if !done {
			a.keep(a.docs.ReleaseRequest(ctx, record.ID))
		}
	}()
	next.ServeHTTP(answer, r.WithContext(context.WithValue(r.Context(), repeatKeyInContext{}, record)))
	if answer.Status() >= http.StatusOK && answer.Status() < http.StatusMultipleChoices {
		headers := map[string]string{}
		for _, name := range repeatedHeaders {
			if value := w.Header().Get(name); value != "" {
				headers[name] = value
			}
		}
		done = true
		a.keep(a.docs.FinishRequest(ctx, record.ID, answer.Status(), headers, copied.Bytes()))
	}
}

// keep logs that an answer could not be kept: a repetition finds out anew.
func (a *api) keep(err error) {
	if err != nil {
		a.log.Warn("answer to a repeatable request not kept", zap.Error(err))
	}
}

func replay(w http.ResponseWriter, record *documents.Request) {
	for name, value := range record.Headers {
		w.Header().Set(name, value)
	}
	w.Header().Set(replayedHeader, "true")
	w.WriteHeader(record.Status)
	_, _ = w.Write(record.Body)
}

func digest(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:])
}

// newGatewayID draws an id for a gateway; for a request that is repeated, the
// one that was drawn before.
func (a *api) newGatewayID(ctx context.Context) (id string, again bool, err error) {
	record := repeatOf(ctx)
	if record != nil && record.Target != "" {
		return record.Target, true, nil
	}
	if id, err = a.docs.NewGatewayID(ctx); err != nil || record == nil {
		return id, false, err
	}
	return id, false, a.docs.AimRequest(ctx, record.ID, id)
}
