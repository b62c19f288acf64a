package lease_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-io/lockstep/internal/lease"
)

// Guards against settings under which two could hold one lease, or none could
// keep one.
func TestOptionsThatDoNotHold(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		opts lease.Options
		want string
	}{
		"the defaults":         {lease.Options{Holder: "a"}, ""},
		"no name":              {lease.Options{}, "Holder"},
		"deadline over lease":  {lease.Options{Holder: "a", LeaseDuration: 10 * time.Second}, "LeaseDuration"},
		"no second attempt":    {lease.Options{Holder: "a", RetryPeriod: 6 * time.Second}, "RenewDeadline"},
		"fractions of seconds": {lease.Options{Holder: "a", LeaseDuration: 15500 * time.Millisecond}, "whole seconds"},
		"no pause":             {lease.Options{Holder: "a", RetryPeriod: -1}, "RetryPeriod"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := lease.New(nil, test.opts)
			if test.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("err = %v, want one about %s", err, test.want)
			}
		})
	}
}

// Guards those who call Check without a lease: it says no more than ctx.Err.
func TestCheckWithoutALease(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	if err := lease.Check(ctx); err != nil {
		t.Error(err)
	}
	cancel(errBoom)
	if err := lease.Check(ctx); !errors.Is(err, errBoom) {
		t.Errorf("err = %v", err)
	}
}
