package mongostore

import (
	"context"
	"errors"
	"strings"

	"go.mongodb.org/mongo-driver/v2/mongo"
)

// unavailableCodes are those of servers that are starting, stopping, or not
// (any more) the primary.
var unavailableCodes = []int{91, 189, 10058, 10107, 11600, 11602, 13435, 13436}

// IsUnavailable reports whether err says that the database could not be
// reached, or not in time. Whether a write was made is then unknown; the same
// request may be made again.
func IsUnavailable(err error) bool {
	if err == nil {
		return false
	}
	if mongo.IsTimeout(err) || mongo.IsNetworkError(err) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, mongo.ErrClientDisconnected) || strings.Contains(err.Error(), "server selection error") {
		return true
	}
	var server mongo.ServerError
	if !errors.As(err, &server) {
		return false
	}
	for _, code := range unavailableCodes {
		if server.HasErrorCode(code) {
			return true
		}
	}
	// A gateway to DocumentDB answers while the server behind it does not.
	return server.HasErrorCode(codeInternalError) &&
		(strings.Contains(err.Error(), "connect") || strings.Contains(err.Error(), "the database system is"))
}
