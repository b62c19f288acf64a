package api

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

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
			writeProblem(w, unread(err))
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		caller := callerOf(r.Context())
		id := digest(caller.Tenant, caller.Name, r.URL.Path, key)
		record, mine, err := a.docs.BeginRequest(r.Context(), id, digest(r.URL.RawQuery, string(body)), a.repeatLease(r))
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

// unread says why a body could not be read.
func unread(err error) *Problem {
	p := fail(CodeInvalidRequest, "the body could not be read")
	if errors.Is(err, os.ErrDeadlineExceeded) {
		p = fail(CodeInvalidRequest, "the body did not come in time")
		p.Status, p.Title = http.StatusRequestTimeout, http.StatusText(http.StatusRequestTimeout)
	}
	return p
}

// repeatLease is how long a request may take before another replica takes it to
// be given up: longer than it has, with the wait that it asks for.
func (a *api) repeatLease(r *http.Request) time.Duration {
	query := r.URL.Query()
	wait := WaitParams{Wait: query.Get("wait"), Timeout: cmp.Or(query.Get("timeout"), defaultWait)}
	return 2*a.Timeout + min(max(wait.extra(), 0), maxWait)
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

// aim records which number a request is about to count up to. A request that is
// repeated, because its answer was lost or its wait was too short, finds by it
// that it has counted already.
func (a *api) aim(ctx context.Context, number int64) error {
	record := repeatOf(ctx)
	if record == nil {
		return nil
	}
	return a.docs.AimRequest(ctx, record.ID, strconv.FormatInt(number, 10))
}

// counted reports whether the request is a repetition of one that was about to
// count up to a number which has been reached since. If it was somebody else
// who counted, that was after the request was first made, and what was to be
// replaced is replaced.
func counted(ctx context.Context, present int64) (aim int64, is bool) {
	record := repeatOf(ctx)
	if record == nil || !record.Again {
		return 0, false
	}
	aim, err := strconv.ParseInt(record.Target, 10, 64)
	return aim, err == nil && present >= aim
}
