package sweep

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lockstep-io/lockstep/internal/resource"
)

// Find looks twice for orphans, and reports what it found both times: what is
// just being deleted in good order is gone by the second look, and an answer
// that was wrong once is not believed. If something could not be read it returns
// what it found elsewhere together with the error.
func (s *Sweeper) Find(ctx context.Context) (*Report, error) {
	report, err := s.look(ctx)
	if len(report.Orphans) == 0 {
		return report, err
	}
	again, errAgain := s.look(ctx)
	seen := map[string]bool{}
	for i := range again.Orphans {
		seen[again.Orphans[i].key()] = true
	}
	report.Orphans = slices.DeleteFunc(report.Orphans, func(o Orphan) bool { return !seen[o.key()] })
	for region := range again.unread {
		report.unread[region] = true
	}
	return report, errors.Join(err, errAgain)
}

// look looks once. Things are listed before their documents are asked for: a
// document is made before what belongs to it, and removed after it.
func (s *Sweeper) look(ctx context.Context) (*Report, error) {
	report := &Report{unread: map[string]bool{}}
	now, err := s.docs.Now(ctx)
	if err != nil {
		report.unread[documents] = true
		return report, fmt.Errorf("look for orphans: %w", err)
	}
	report.At = now
	var errs []error
	add := func(where string, orphans []Orphan, err error) {
		report.Orphans = append(report.Orphans, orphans...)
		if err != nil {
			report.unread[where] = true
			errs = append(errs, err)
		}
	}
	for _, kind := range resource.Kinds {
		if kind != resource.KindApiGateway {
			orphans, err := s.orphanDocuments(ctx, kind)
			add(documents, orphans, err)
		}
	}
	for _, region := range s.regions {
		orphans, err := s.orphanObjects(ctx, region)
		add(region.Name, orphans, err)
		orphans, err = s.orphanDatabases(ctx, region)
		add(region.Name, orphans, err)
	}
	report.Orphans = ripe(report.Orphans, now.Add(-s.opts.Grace))
	inOrder(report.Orphans)
	if err := s.disown(ctx, report.Orphans); err != nil {
		// Whose they are is not known: then they are none of ours.
		report.Orphans = nil
		report.unread[documents] = true
		errs = append(errs, err)
	}
	return report, errors.Join(errs...)
}

// ripe drops all orphans of gateways of which something was made after the
// given time: whoever made it may still be at it.
func ripe(orphans []Orphan, before time.Time) []Orphan {
	young := map[string]bool{}
	for i := range orphans {
		if orphans[i].CreatedAt.After(before) {
			young[orphans[i].GatewayID] = true
		}
	}
	return slices.DeleteFunc(orphans, func(o Orphan) bool { return young[o.GatewayID] })
}

// disown marks what is to be kept: things outside this database whose gateway
// ids were never given out here, and things that name no gateway.
func (s *Sweeper) disown(ctx context.Context, orphans []Orphan) error {
	var ids []string
	for i := range orphans {
		ids = append(ids, orphans[i].GatewayID)
	}
	ids = slices.Compact(ids) // they are sorted
	ours, err := s.docs.Issued(ctx, ids)
	if err != nil {
		return fmt.Errorf("ask which gateways were this installation's: %w", err)
	}
	for i := range orphans {
		o := &orphans[i]
		switch {
		case o.GatewayID == "":
			*o = o.with(Kept, "it does not say which gateway it belongs to")
		case o.Sort != SortDocument && !slices.Contains(ours, o.GatewayID):
			*o = o.with(Kept, "its gateway's id was never given out here: it is another installation's, or was made by hand")
		}
	}
	return nil
}

// missing asks for documents by their ids, each once.
func (s *Sweeper) missing(ctx context.Context, kind resource.Kind, ids []string) (map[string]bool, error) {
	slices.Sort(ids)
	ids = slices.Compact(ids)
	gone, err := s.docs.Missing(ctx, kind, ids)
	if err != nil {
		return nil, fmt.Errorf("ask which %s documents exist: %w", kind, err)
	}
	missing := map[string]bool{}
	for _, id := range gone {
		missing[id] = true
	}
	return missing, nil
}
