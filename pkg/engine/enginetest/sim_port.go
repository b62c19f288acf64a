package enginetest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/lockstep-io/lockstep/pkg/engine"
)

// port is one process of a replica, and its connection to the store. It can
// freeze (as in a long garbage collection, or a stopped virtual machine), be
// cut off, and die.
type port struct {
	sim     *simulation
	index   int
	name    string        // a process that comes back has the name of the one before
	skew    time.Duration // of its wall clock
	drift   float64       // of its clock's rate
	service *engine.Service[*SimDocument]
	stop    context.CancelFunc
	ended   chan struct{}

	mu   sync.Mutex
	thaw chan struct{} // closed when a frozen process goes on; nil if it does
	cut  bool
	dead bool
}

// What a replica is told by a network that fails.
var (
	errRefused = errors.New("connection refused")
	errNoReply = errors.New("connection closed before the answer")
	errDead    = errors.New("this process is dead")
)

func newPort(s *simulation, index int) *port {
	return &port{
		sim: s, index: index, name: "r" + string(rune('0'+index)), ended: make(chan struct{}),
		skew:  s.dice.between(-10*time.Minute, 10*time.Minute, rollSkew, index),
		drift: 0.9 + 0.2*s.dice.part(rollSkew, index, rollDrift),
	}
}

// now is the replica's clock.
func (p *port) now() time.Time {
	return p.sim.began.Add(time.Duration(float64(time.Since(p.sim.began)) * p.drift)).Add(p.skew)
}

func (p *port) start() {
	opts := engine.Options{Holder: p.name, Workers: 4, Batch: 8, Grace: 5 * time.Second, Now: p.now}
	switch p.sim.Without {
	case TrustWindow:
		opts.Margin = -time.Hour
	case WindowMargin:
		opts.Margin = -engine.DefaultLockTimeout / 6
	}
	p.service = engine.NewService(p.sim.world.definition(p), engine.Store[*SimDocument](p), opts)
	ctx, cancel := context.WithCancel(context.Background())
	p.stop = cancel
	go func() {
		defer close(p.ended)
		if err := p.service.Run(ctx); err != nil {
			panic(err) // the simulator's definition is wrong
		}
	}()
}

// wait returns once the process has ended.
func (p *port) wait() { <-p.ended }

// kill ends the process without a word: nothing of it reaches the store any
// more but what is on its way.
func (p *port) kill() {
	p.mu.Lock()
	p.dead = true
	p.mu.Unlock()
	p.unfreeze()
	p.stop()
}

func (p *port) freeze() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.thaw == nil && !p.dead {
		p.thaw = make(chan struct{})
	}
}

func (p *port) unfreeze() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.thaw != nil {
		close(p.thaw)
		p.thaw = nil
	}
}

func (p *port) setCut(cut bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = cut
}

func (p *port) is(what func() bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return what()
}

// gateOpen reports whether the process does anything.
func (p *port) gateOpen() bool { return p.is(func() bool { return !p.dead && p.thaw == nil }) }

func (p *port) healthy() bool { return p.is(func() bool { return !p.dead && !p.cut && p.thaw == nil }) }
func (p *port) isDead() bool  { return p.is(func() bool { return p.dead }) }
func (p *port) isCut() bool   { return p.is(func() bool { return p.cut }) }

// gate is passed by everything that the process does: it waits while the
// process is frozen, whatever context it has.
func (p *port) gate() error {
	for {
		p.mu.Lock()
		thaw, dead := p.thaw, p.dead
		p.mu.Unlock()
		switch {
		case dead:
			return errDead
		case thaw == nil:
			return nil
		}
		<-thaw
	}
}

// spend takes time, as work does. Deaf work does not look at its context.
func (p *port) spend(ctx context.Context, d time.Duration, deaf bool) error {
	if deaf {
		time.Sleep(d)
		return p.gate()
	}
	select {
	case <-time.After(d):
		return p.gate()
	case <-ctx.Done():
		return errors.Join(p.gate(), context.Cause(ctx))
	}
}

// call sends one operation to the store, and waits for the answer.
func call[T any](ctx context.Context, p *port, op opCode, document int, do func(context.Context) (T, error)) (T, error) {
	var none T
	if err := errors.Join(p.gate(), ctx.Err()); err != nil {
		return none, err
	}
	mishap, delay, latency := p.sim.travel(p, op, document)
	if mishap == Late || mishap == Slow {
		return callLate(ctx, p, delay, do)
	}
	time.Sleep(latency)
	if err := errors.Join(p.gate(), ctx.Err()); err != nil {
		return none, err
	}
	if mishap == Refused || p.isCut() {
		return none, errRefused
	}
	answer, err := atStore(p.sim, p, do)
	if mishap == AnswerLost && err == nil {
		return none, errNoReply
	}
	return answer, errors.Join(p.gate(), err)
}

// callLate makes the operation after a delay, whether or not the caller still
// waits for it.
func callLate[T any](ctx context.Context, p *port, delay time.Duration, do func(context.Context) (T, error)) (T, error) {
	type reply struct {
		answer T
		err    error
	}
	replied := make(chan reply, 1)
	p.sim.late.Go(func() {
		time.Sleep(delay)
		answer, err := atStore(p.sim, p, do)
		replied <- reply{answer, err}
	})
	var none T
	select {
	case r := <-replied:
		return r.answer, errors.Join(p.gate(), r.err)
	case <-ctx.Done():
		return none, errors.Join(p.gate(), ctx.Err())
	}
}

// documentOf is the number of the document that an operation is about, or -1.
func (s *simulation) documentOf(ids []string) int {
	if len(ids) != 1 {
		return -1
	}
	return slices.Index(s.docs, ids[0])
}
