package testrecord

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/lockstep-io/lockstep/internal/platform"
	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/pkg/engine"
)

// Recorder writes a record.
type Recorder struct {
	file  *os.File
	calls atomic.Int64
}

// Open begins a record, or goes on with one.
func Open(name string) (*Recorder, error) {
	file, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("--test-record: %w", err)
	}
	return &Recorder{file: file}, nil
}

// Close ends the record.
func (r *Recorder) Close() error { return r.file.Close() }

// Attach has a platform's calls recorded. Hooks that are set already run
// inside: what they make of an answer is what is recorded.
func (r *Recorder) Attach(opts *platform.Options) {
	inner := opts.AroundStore
	opts.AroundStore = func(ctx context.Context, call platform.StoreCall, run func(context.Context) (platform.StoreAnswer, error)) (platform.StoreAnswer, error) {
		return r.store(ctx, call, func(ctx context.Context) (platform.StoreAnswer, error) {
			if inner == nil {
				return run(ctx)
			}
			return inner(ctx, call, run)
		})
	}
	opts.Around = r.step
	opts.Transport = func(next http.RoundTripper) http.RoundTripper { return &transport{r, next} }
	if opts.Engine.Observer == nil {
		opts.Engine.Observer = engine.NoObserver{}
	}
	opts.Engine.Observer = &observer{opts.Engine.Observer, r}
}

// begin writes the line before a call; the function it returns writes the one
// after it.
func (r *Recorder) begin(line Line) (end func(Line)) {
	line.Call = r.calls.Add(1)
	r.write(line)
	return func(after Line) {
		after.Call, after.End = line.Call, true
		r.write(after)
	}
}

func (r *Recorder) write(line Line) {
	line.At, line.Wall = Now(), time.Now() //nolint:forbidigo // what the machine's clocks show is what is recorded
	text, err := json.Marshal(line)
	if err == nil {
		_, err = r.file.Write(append(text, '\n'))
	}
	if err != nil {
		panic("testrecord: " + err.Error()) // a record with gaps proves nothing
	}
}

func (r *Recorder) store(ctx context.Context, call platform.StoreCall, run func(context.Context) (platform.StoreAnswer, error)) (platform.StoreAnswer, error) {
	line := Line{Op: call.Op, Kind: string(call.Kind)}
	if call.Op == "apply" {
		line.Op, line.From, line.To, line.Name = string(call.Change.Kind), string(call.Change.From), string(call.Change.To), call.Change.Step
	}
	for _, ref := range call.Refs {
		line.Docs = append(line.Docs, Doc{ID: ref.ID, Token: ref.Token})
	}
	for _, id := range call.Claim.IDs {
		line.Docs = append(line.Docs, Doc{ID: id})
	}
	end := r.begin(line)
	answer, err := run(ctx)
	after := Line{Lost: answer.Lost}
	for _, m := range answer.Claimed {
		after.Docs = append(after.Docs, Doc{ID: m.ID, Token: m.LockToken, Phase: m.Phase, LockedAt: m.LockedAt})
	}
	after.say(err)
	end(after)
	return answer, err
}

// say records an error.
func (l *Line) say(err error) {
	switch {
	case err == nil:
	case errors.Is(err, engine.ErrLockLost):
		l.LockLost = true
	default:
		l.Error = err.Error()
	}
}

type claimKey struct{}

// claim is under what a request is made.
type claim struct {
	kind resource.Kind
	doc  Doc
}

func (r *Recorder) step(ctx context.Context, kind resource.Kind, doc engine.Document, step string,
	run func(context.Context) (engine.Outcome, error),
) (engine.Outcome, error) {
	ref := engine.ClaimOf(ctx).Ref
	under := claim{kind, Doc{ID: ref.ID, Token: ref.Token}}
	end := r.begin(Line{Op: OpStep, Kind: string(kind), Name: step, From: string(doc.Lifecycle().Phase), Docs: []Doc{under.doc}})
	outcome, err := run(context.WithValue(ctx, claimKey{}, under))
	var after Line
	after.say(err)
	end(after)
	return outcome, err
}

// transport records writing requests.
type transport struct {
	*Recorder
	next http.RoundTripper
}

func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	under, ok := req.Context().Value(claimKey{}).(claim)
	if !ok || req.Method == http.MethodGet {
		return t.next.RoundTrip(req)
	}
	line := Line{Op: OpHTTP, Kind: string(under.kind), Docs: []Doc{under.doc}, Method: req.Method, Path: req.URL.Path}
	if req.Method == http.MethodDelete && req.Body != nil {
		line.UID = uidOf(req)
	}
	end := t.begin(line)
	resp, err := t.next.RoundTrip(req)
	var after Line
	after.say(err)
	if resp != nil {
		after.Status = resp.StatusCode
	}
	end(after)
	return resp, err
}

// uidOf reads the precondition of a delete, and puts the body back.
func uidOf(req *http.Request) string {
	text, err := io.ReadAll(req.Body)
	_ = req.Body.Close()
	req.Body = io.NopCloser(bytes.NewReader(text))
	var options struct {
		Preconditions struct {
			UID string `json:"uid"`
		} `json:"preconditions"`
	}
	if err == nil {
		err = json.Unmarshal(text, &options)
	}
	if err != nil {
		return "unreadable"
	}
	return options.Preconditions.UID
}

// observer records the locks that the engine gives up.
type observer struct {
	engine.Observer
	record *Recorder
}

// LockLost implements [engine.Observer].
func (o *observer) LockLost(kind, where string) {
	o.record.begin(Line{Op: OpLost, Kind: kind, Name: where})
	o.Observer.LockLost(kind, where)
}
