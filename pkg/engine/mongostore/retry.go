package mongostore

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
)

const (
	retryAttempts = 6
	retryPause    = 5 * time.Millisecond
)

// retried calls f again when the server broke off an operation because it
// deadlocked with another, which DocumentDB reports as an error without a
// retry label. Nothing was written then. Other errors are the caller's: in
// particular a lost answer, after which nobody knows whether it was.
func retried(ctx context.Context, f func() error) error {
	for attempt := 1; ; attempt++ {
		err := f()
		if err == nil || attempt == retryAttempts || !isDeadlock(err) {
			return err
		}
		pause := time.NewTimer(time.Duration(rand.Int64N(int64(retryPause << attempt)))) //nolint:gosec // spreads retries
		select {
		case <-ctx.Done():
			pause.Stop()
			return ctx.Err()
		case <-pause.C:
		}
	}
}

// Codes under which DocumentDB reports a deadlock: of a command, and of a
// write within one.
const (
	codeInternalError = 1
	codeDeadlockWrite = 16908292
	// codeWriteConflict is MongoDB's, should it surface.
	codeWriteConflict = 112
)

func isDeadlock(err error) bool {
	var server mongo.ServerError
	if !errors.As(err, &server) {
		return false
	}
	return server.HasErrorCode(codeDeadlockWrite) || server.HasErrorCode(codeWriteConflict) ||
		server.HasErrorCode(codeInternalError) && strings.Contains(err.Error(), "deadlock")
}

// isDuplicate reports whether a value that must be unique is taken. DocumentDB
// says so of a findOneAndUpdate in its own words.
func isDuplicate(err error) bool {
	if mongo.IsDuplicateKeyError(err) {
		return true
	}
	var server mongo.ServerError
	return errors.As(err, &server) && server.HasErrorCode(codeInternalError) &&
		strings.Contains(err.Error(), "violates exclusion constraint")
}
