package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// claim is one document held under a lock by this replica.
//
// The holder trusts its lock for the trust window only: from just before the
// claim was sent, to lockTimeout minus a margin later, measured on this
// replica's monotonic clock. The lock was set later than the window began and
// lasts longer, so the window closes before anybody else can claim. When it
// closes, ctx is cancelled with [ErrLockLost]. A renewal that succeeded moves
// the window to when that renewal was sent.
type claim[D Document] struct {
	doc D
	ref Ref
	// ctx is the context of all work done under the claim.
	ctx    context.Context
	cancel context.CancelCauseFunc

	mu      sync.Mutex
	trusted time.Time // until when
	expiry  *time.Timer

	told atomic.Bool // that the lock was lost: metrics and log count it once
}

// clock reads the replica's monotonic clock. Only differences between its
// readings mean anything: it is never compared with a time in a document.
type clock func() time.Time

func newClaim[D Document](parent context.Context, doc D, now clock, began time.Time, window time.Duration) *claim[D] {
	ctx, cancel := context.WithCancelCause(parent)
	c := &claim[D]{doc: doc, ref: RefOf(doc), ctx: ctx, cancel: cancel, trusted: began.Add(window)}
	c.expiry = time.AfterFunc(c.trusted.Sub(now()), func() { c.lose("trust window over") })
	return c
}

// extend moves the trust window after a renewal sent at began.
func (c *claim[D]) extend(now clock, began time.Time, window time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trusted = began.Add(window)
	c.expiry.Reset(c.trusted.Sub(now()))
}

// left is how much of the trust window is left.
func (c *claim[D]) left(now clock) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.trusted.Sub(now())
}

// lose ends the work under the claim: its lock must not be relied on any more.
func (c *claim[D]) lose(why string) {
	c.cancel(fmt.Errorf("%w: %s", ErrLockLost, why))
}

// lost reports whether the claim's lock was lost.
func (c *claim[D]) lost() bool {
	return errors.Is(context.Cause(c.ctx), ErrLockLost)
}

// end releases the claim's timers and context once its work is over.
func (c *claim[D]) end() {
	c.expiry.Stop()
	c.cancel(nil)
}

// Claim is what a step can do with the claim it runs under, found in its
// context by [ClaimOf].
type Claim struct {
	Ref    Ref
	update func(ctx context.Context, fields map[string]any) error
	verify func(ctx context.Context) error
}

type claimKey struct{}

// NewClaim makes a claim for tests that call a step outside of a [Service].
func NewClaim(ref Ref, update func(context.Context, map[string]any) error, verify func(context.Context) error) *Claim {
	return &Claim{Ref: ref, update: update, verify: verify}
}

// WithClaim returns a context in which [ClaimOf] finds the claim.
func WithClaim(ctx context.Context, c *Claim) context.Context {
	return context.WithValue(ctx, claimKey{}, c)
}

// ClaimOf returns the claim that the step with this context runs under. It
// panics if there is none: it is a mistake in the program to ask elsewhere.
func ClaimOf(ctx context.Context) *Claim {
	c, ok := ctx.Value(claimKey{}).(*Claim)
	if !ok {
		panic("engine: ClaimOf outside of a step")
	}
	return c
}

// Update sets fields of the claimed document (dotted names), matching the
// claim's token. It returns [ErrLockLost] if the claim is not the latest.
func (c *Claim) Update(ctx context.Context, fields map[string]any) error {
	return c.update(ctx, fields)
}

// Verify returns [ErrLockLost] if the claim is not the latest any more: for a
// step that has made something outside and must know that it was still its to
// make.
func (c *Claim) Verify(ctx context.Context) error { return c.verify(ctx) }
