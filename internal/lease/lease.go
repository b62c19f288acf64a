package lease

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"
	"k8s.io/utils/clock"
)

// ErrLost is matched by the error of a renewal, of [Check], and by the cause of
// a work's context when the lease is, or may be, someone else's.
var ErrLost = errors.New("the lease is lost")

// Store keeps leases where all replicas see them. It is safe for concurrent
// use.
type Store interface {
	// Lock returns this campaign's side of the lease of that name. It does no
	// I/O.
	Lock(name string, c Campaign) Lock
}

// Campaign is one replica's claim to one lease, from when it begins to try
// until it has given up.
type Campaign struct {
	// Identity is the campaign's own: no other has it, or ever had.
	Identity string
	// Duration is how long others shall leave the lease alone after a renewal.
	Duration time.Duration
	// Clock is the replica's, for stores that cannot compare times themselves.
	Clock clock.Clock
}

// Lock is a lease as one campaign sees it. Its methods are not called
// concurrently. An error of any of them leaves open whether it was done, and
// each may be called again.
type Lock interface {
	// Acquire takes the lease if it is free, has expired, or is the campaign's
	// already. The token is higher with each time that the lease is taken.
	Acquire(ctx context.Context) (token int64, held bool, err error)
	// Renew makes the lease last for another duration from now. It returns
	// [ErrLost] if it has become someone else's, or no one's.
	Renew(ctx context.Context) error
	// Release makes the lease free if it is the campaign's.
	Release(ctx context.Context) error
}

// Options configure an elector. Times that are 0 take the defaults.
type Options struct {
	// Holder names this replica in the lease, for people. Required.
	Holder string
	// LeaseDuration is how long others leave a lease alone that is not renewed
	// (15 s); RenewDeadline how long a holder goes on that cannot renew (10 s),
	// at least a second less; RetryPeriod how often a holder renews, and the
	// others look (2 s).
	LeaseDuration, RenewDeadline, RetryPeriod time.Duration
	// Clock is the real one if nil.
	Clock clock.Clock
	// OnChange, if set, is told when a lease is won and when the work under it
	// has ended. It must not block.
	OnChange func(name string, held bool)
	// Log is silent if nil.
	Log *zap.Logger
}

// The defaults of [Options].
const (
	DefaultLeaseDuration = 15 * time.Second
	DefaultRenewDeadline = 10 * time.Second
	DefaultRetryPeriod   = 2 * time.Second
)

// margin is the least time between a holder's end and a rival's beginning: for
// the work to end in, and because records in Kubernetes tell times by the
// second.
const margin = time.Second

func (o Options) withDefaults() Options {
	if o.LeaseDuration == 0 {
		o.LeaseDuration = DefaultLeaseDuration
	}
	if o.RenewDeadline == 0 {
		o.RenewDeadline = DefaultRenewDeadline
	}
	if o.RetryPeriod == 0 {
		o.RetryPeriod = DefaultRetryPeriod
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.OnChange == nil {
		o.OnChange = func(string, bool) {}
	}
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	return o
}

// check names what is wrong with the options, defaults filled in.
func (o Options) check() error {
	switch {
	case o.Holder == "":
		return errors.New("lease: Holder is empty: name this replica, by its pod's name or its host's")
	case o.LeaseDuration%time.Second != 0:
		return fmt.Errorf("lease: LeaseDuration is %s: Kubernetes keeps it in whole seconds", o.LeaseDuration)
	case o.RetryPeriod <= 0:
		return fmt.Errorf("lease: RetryPeriod is %s: it must be positive", o.RetryPeriod)
	case o.RenewDeadline < 2*o.RetryPeriod:
		return fmt.Errorf("lease: RenewDeadline is %s: make it at least twice the RetryPeriod (%s), for a second attempt",
			o.RenewDeadline, o.RetryPeriod)
	case o.LeaseDuration < o.RenewDeadline+margin:
		return fmt.Errorf("lease: LeaseDuration is %s: make it longer than RenewDeadline (%s) by at least %s, "+
			"so that a holder has stopped before another begins", o.LeaseDuration, o.RenewDeadline, margin)
	}
	return nil
}

// Elector runs work under leases. It is safe for concurrent use.
type Elector struct {
	store Store
	opts  Options
}

// New returns an elector, or an error that says which option is wrong. It does
// no I/O.
func New(store Store, opts Options) (*Elector, error) {
	opts = opts.withDefaults()
	if err := opts.check(); err != nil {
		return nil, err
	}
	return &Elector{store: store, opts: opts}, nil
}
