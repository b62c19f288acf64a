package engine

import "time"

// The progressive backoff of waits: how soon a relocked document is looked at
// again.
const (
	// relockPart: a wait of n seconds is looked at again after n/10 seconds.
	relockPart = 10
	// RelockProgressive is how long a wait counts as short. Beyond it the
	// delay is the lock timeout.
	RelockProgressive = 2 * time.Minute
)

// RelockDelay is how long after waiting for so long the next look is due: a
// tenth of the wait, rounded up to the millisecond, within the first two
// minutes, and the lock timeout beyond. Stores compute the same from the
// database's time.
func RelockDelay(waited, lockTimeout time.Duration) time.Duration {
	if waited > RelockProgressive {
		return lockTimeout
	}
	waited = max(waited, 0)
	return (waited + relockPart*time.Millisecond - 1).Truncate(relockPart*time.Millisecond) / relockPart
}

// The exponential backoff of errors.
const (
	errorBackoffBase = 500 * time.Millisecond
	errorBackoffMax  = 5 * time.Minute
)

// ErrorDelay is how long a document backs off after its nth error in a row
// (n counts from 1): half a second, doubling up to five minutes. Spread in
// [0, 1) takes up to a quarter off it, so that what failed together does not
// try again together.
func ErrorDelay(n int, spread float64) time.Duration {
	delay := errorBackoffMax
	if n < 1 {
		n = 1
	}
	if shift := n - 1; shift < 20 {
		delay = min(errorBackoffMax, errorBackoffBase<<shift)
	}
	return delay - time.Duration(float64(delay)/4*spread)
}
