package sweep

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/lockstep-io/lockstep/internal/driver/kube"
	"github.com/lockstep-io/lockstep/internal/lease"
	"github.com/lockstep-io/lockstep/internal/resource"
)

// ErrTooMany is matched by the error of a removal that would concern more
// gateways than the limit. Nothing has been removed.
var ErrTooMany = errors.New("too many gateways at once")

// errBack is why a removal is refused whose document is there (again).
var errBack = errors.New("its document is there again")

// Remove removes what a report found, as far as the order allows: what is still
// going, or waits for that, is for the next pass. It returns the report with an
// outcome for each orphan, and the errors of those that failed.
//
// Each orphan is asked for once more right before. The context of a lease is
// checked with it: if that is lost, Remove stops with [lease.ErrLost].
func (s *Sweeper) Remove(ctx context.Context, found *Report) (*Report, error) {
	if ids := found.Gateways(); s.opts.Limit >= 0 && len(ids) > s.opts.Limit {
		return found, fmt.Errorf("remove the orphans of %d gateways (the limit is %d): %w: "+
			"has the collection %s lost its documents? If they may go, raise the limit",
			len(ids), s.opts.Limit, ErrTooMany, resource.KindApiGateway)
	}
	done := &Report{At: found.At, unread: found.unread}
	var errs []error
	r := removal{Sweeper: s, report: found}
	for i := range found.Orphans {
		if err := lease.Check(ctx); err != nil {
			done.Orphans = append(done.Orphans, found.Orphans[i:]...)
			return done, errors.Join(append(errs, fmt.Errorf("remove orphans: %w", err))...)
		}
		o, err := r.next(ctx, found.Orphans[i])
		done.Orphans = append(done.Orphans, o)
		errs = append(errs, err)
	}
	return done, errors.Join(errs...)
}

// removal is a Remove under way. It meets the orphans gateway by gateway, each
// gateway's in order.
type removal struct {
	*Sweeper
	report *Report

	gateway string
	// left is the first orphan of the gateway that is not gone, leftStage its
	// stage; empty if there is none.
	left      string
	leftStage stage
}

func (r *removal) next(ctx context.Context, o Orphan) (Orphan, error) {
	if o.GatewayID != r.gateway {
		r.gateway, r.left = o.GatewayID, ""
	}
	if o.Outcome == Kept {
		return o, nil
	}
	if why := r.unread(&o); why != "" {
		return r.hold(o.with(Waiting, why)), nil
	}
	if r.left != "" && o.stage() > r.leftStage {
		return o.with(Waiting, "waits for "+r.left), nil
	}
	o, err := r.remove(ctx, o)
	return r.hold(o), err
}

// hold keeps later stages from beginning if the orphan is not gone.
func (r *removal) hold(o Orphan) Orphan {
	if o.Outcome != Removed && r.left == "" {
		r.left, r.leftStage = o.Name, o.stage()
	}
	return o
}

// unread says what was not read that might have to go before the orphan. To ask
// a service to dismantle its document is always right.
func (r *removal) unread(o *Orphan) string {
	if o.stage() == served {
		return ""
	}
	var unread []string
	for region := range r.report.unread {
		switch {
		case region == documents:
			unread = append(unread, "the documents")
		case o.Region == "" || o.Region == region:
			unread = append(unread, "region "+region)
		}
	}
	if len(unread) == 0 {
		return ""
	}
	return "could not read all of " + strings.Join(unread, ", ")
}

func (r *removal) remove(ctx context.Context, o Orphan) (Orphan, error) {
	verify := func(ctx context.Context) error { return r.stillLost(ctx, o.lost) }
	var waiting string
	var err error
	switch o.Sort {
	case SortDocument:
		return r.removeDocument(ctx, o, verify)
	case SortObject:
		waiting, err = r.removeObject(ctx, o, verify)
	case SortDatabase:
		waiting, err = r.removeDatabase(ctx, o, verify)
	}
	return outcome(o, Removed, waiting, err)
}

// stillLost returns nil if all the documents are still missing. It is the last
// look before a removal.
func (s *Sweeper) stillLost(ctx context.Context, lost []document) error {
	if err := lease.Check(ctx); err != nil {
		return err
	}
	for _, doc := range lost {
		missing, err := s.missing(ctx, doc.kind, []string{doc.id})
		if err != nil {
			return err
		}
		if !missing[doc.id] {
			return fmt.Errorf("%s: %w", doc, errBack)
		}
	}
	return nil
}

func (r *removal) removeDocument(ctx context.Context, o Orphan, verify func(context.Context) error) (Orphan, error) {
	if err := verify(ctx); err != nil {
		return outcome(o, Removed, "", err)
	}
	if isLeaf(o.child.kind) {
		return outcome(o, Removed, "", r.docs.RemoveLeaf(ctx, o.child.kind, o.GatewayID))
	}
	return outcome(o, Asked, "", r.docs.AskDeleted(ctx, o.child.kind, o.child.id))
}

func (r *removal) removeObject(ctx context.Context, o Orphan, verify func(context.Context) error) (string, error) {
	for _, region := range r.regions {
		if region.Name != o.Region || region.Cluster == nil {
			continue
		}
		gone, err := region.Cluster.Delete(ctx, o.object.Owner(verify), o.object.Ref)
		if err != nil || gone {
			return "", err
		}
		return o.Name + " is terminating", nil
	}
	return "", fmt.Errorf("region %q has no cluster here", o.Region)
}

func (r *removal) removeDatabase(ctx context.Context, o Orphan, verify func(context.Context) error) (string, error) {
	for _, region := range r.regions {
		if region.Name == o.Region && region.Databases != nil {
			return region.Databases.RemoveOrphan(ctx, o.GatewayID, verify)
		}
	}
	return "", fmt.Errorf("region %q has no database server here", o.Region)
}

// outcome tells what became of a removal. That somebody has a right to the
// thing after all is no failure.
func outcome(o Orphan, success Outcome, waiting string, err error) (Orphan, error) {
	var lost interface{ LockLost() bool }
	switch {
	case errors.Is(err, errBack):
		return o.with(Kept, err.Error()), nil
	case errors.Is(err, kube.ErrStale), errors.As(err, &lost) && lost.LockLost():
		return o.with(Kept, "someone has a newer claim on it: "+err.Error()), nil
	case err != nil:
		return o.with(Failed, err.Error()), fmt.Errorf("remove %s: %w", o.Name, err)
	case waiting != "":
		return o.with(Waiting, waiting), nil
	}
	return o.with(success, ""), nil
}
