package sweep

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"
)

// LeaseName is the lease under which one replica at a time sweeps.
const LeaseName = "orphan-sweeper"

// Sweep makes one pass: it finds, and removes if the options say so. What could
// be read is removed even if something else could not.
func (s *Sweeper) Sweep(ctx context.Context) (*Report, error) {
	report, err := s.Find(ctx)
	if err != nil && ctx.Err() == nil {
		s.opts.Log.Warn("could not look everywhere for orphans", zap.Error(err))
	}
	if s.opts.Remove && report.Removable() > 0 {
		var failed error
		report, failed = s.Remove(ctx, report)
		if failed != nil && ctx.Err() == nil {
			s.opts.Log.Warn("could not remove all orphans", zap.Error(failed))
		}
		err = errors.Join(err, failed)
	}
	for i := range report.Orphans {
		s.log(&report.Orphans[i])
	}
	return report, err
}

// log says what a pass found. What is kept is said more quietly: it stays from
// pass to pass.
func (s *Sweeper) log(o *Orphan) {
	write := s.opts.Log.Info
	if o.Outcome == Kept {
		write = s.opts.Log.Debug
	}
	write("orphan", zap.String("orphan", o.Name), zap.String("region", o.Region), zap.String("gatewayId", o.GatewayID),
		zap.String("reason", o.Reason), zap.String("outcome", string(o.Outcome)), zap.String("note", o.Note))
}

// Run makes a pass at once, and then one in every interval, until ctx ends. It
// is work for a lease: [LeaseName].
func (s *Sweeper) Run(ctx context.Context) error {
	ticker := time.NewTicker(s.opts.Interval)
	defer ticker.Stop()
	for {
		report, err := s.Sweep(ctx)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // told to end; what was broken off is for the next pass
		}
		s.opts.OnReport(report, err)
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}
