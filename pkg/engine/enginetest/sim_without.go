package enginetest

import (
	"context"
	"slices"

	"github.com/lockstep-io/lockstep/pkg/engine"
)

// Protection is something that keeps a [Property] true. A simulation can take
// one out, to see that the property is then violated, and that this is seen.
type Protection string

// The protections that can be taken out.
const (
	// FencingToken: writes match the claim's token.
	FencingToken Protection = "fencing token"
	// ClaimEnd: writes match a claim that has not ended.
	ClaimEnd Protection = "end of the claim"
	// TokenRaised: each claim has a token of its own.
	TokenRaised Protection = "token raised by each claim"
	// TrustWindow: the holder stops before its lock can expire.
	TrustWindow Protection = "trust window"
	// WindowMargin: the window is shorter than the lock.
	WindowMargin Protection = "margin of the trust window"
	// Renewals: a lock is renewed while its holder works.
	Renewals Protection = "renewals"
	// RefusedRenewal: a renewal that comes too late is refused.
	RefusedRenewal Protection = "refusal of late renewals"
	// DatabaseTime: claims compare times of one clock, the database's.
	DatabaseTime Protection = "database time"
	// LockInClaim: a claim matches documents whose lock has expired.
	LockInClaim Protection = "lock in the claim's predicate"
	// LockExpiry: a lock expires, and with it that of the dead.
	LockExpiry Protection = "expiry of locks"
	// LockOnPhases: no write moves a phase past the lock.
	LockOnPhases Protection = "lock on phases"
	// ObjectFence: things outside carry the token too.
	ObjectFence Protection = "fence of objects"
	// StepLooks: a step is done when its effect is seen, not when it was asked for.
	StepLooks Protection = "look at the world"
	// Relocking: who waits is not due again at once.
	Relocking Protection = "relocking of waits"
	// ErrorBackoff: errors are counted, and back off.
	ErrorBackoff Protection = "backoff of errors"
	// HintBackoff: a hint does not bypass the backoff of errors.
	HintBackoff Protection = "backoff despite hints"
	// IntentClause: a changed intent is claimed whatever it waited for.
	IntentClause Protection = "intent in the claim's predicate"
	// CompareOneShot: the end of a one-shot intent compares before it sets.
	CompareOneShot Protection = "compare-and-set of one-shots"
)

// unprotected is the store without the simulation's protection.
type unprotected struct {
	*MemStore[*SimDocument]
	sim *simulation
}

func (u *unprotected) has(p Protection) bool { return u.sim.Without != p }

// hidden are documents that a claim does not see without some protections.
func (u *unprotected) hidden(id string, rules engine.Rules) bool {
	m := u.sim.metas([]string{id})[id]
	if m == nil {
		return false
	}
	expired := m.LockedAt.Before(u.clock().Add(-rules.LockTimeout))
	return !u.has(LockExpiry) && m.LockedBy != "" ||
		!u.has(IntentClause) && !expired && m.IntentChanged()
}

func (u *unprotected) Due(ctx context.Context, rules engine.Rules, limit int) ([]string, error) {
	if !u.has(LockInClaim) {
		return slices.Clone(u.sim.docs), nil
	}
	ids, err := u.MemStore.Due(ctx, rules, limit)
	return slices.DeleteFunc(ids, func(id string) bool { return u.hidden(id, rules) }), err
}

func (u *unprotected) Claim(ctx context.Context, req engine.ClaimRequest) ([]*SimDocument, error) {
	req.IDs = slices.DeleteFunc(slices.Clone(req.IDs), func(id string) bool { return u.hidden(id, req.Rules) })
	for id, m := range u.sim.metas(req.IDs) {
		switch {
		case !u.has(LockInClaim):
			u.set(id, map[string]any{"lockedAt": engine.Epoch})
		case !u.has(HintBackoff) && req.Hinted && m.Attempts > 0 && m.LockedBy == "":
			u.set(id, map[string]any{"attempts": 0})
		}
	}
	docs, err := u.MemStore.Claim(ctx, req)
	if !u.has(TokenRaised) {
		for _, doc := range docs {
			doc.LockToken--
			u.set(doc.ID, map[string]any{"lockToken": doc.LockToken})
		}
	}
	return docs, err
}

func (u *unprotected) Apply(ctx context.Context, ch engine.Change, claims []engine.Ref) ([]string, error) {
	made := ch
	switch {
	case !u.has(Renewals) && ch.Kind == engine.Renew:
		return nil, nil
	case !u.has(ErrorBackoff) && ch.Kind == engine.Fail:
		made.Kind = engine.Release
	}
	lost, err := u.MemStore.Apply(ctx, made, u.forge(claims))
	if !u.has(RefusedRenewal) && ch.Kind == engine.Renew {
		return nil, err
	}
	for _, ref := range claims {
		if err != nil || slices.Contains(lost, ref.ID) {
			continue
		}
		switch {
		case !u.has(Relocking) && ch.Kind == engine.Relock:
			u.set(ref.ID, map[string]any{"lockedAt": engine.Epoch})
		case !u.has(CompareOneShot) && ch.Kind == engine.Move && ch.OneShot.To != "":
			u.set(ref.ID, map[string]any{"state": ch.OneShot.To})
		}
	}
	return lost, err
}

func (u *unprotected) Update(ctx context.Context, claim engine.Ref, fields map[string]any) error {
	return u.MemStore.Update(ctx, u.forge([]engine.Ref{claim})[0], fields)
}

// forge makes claims match where the store should not ask for what they lack.
func (u *unprotected) forge(claims []engine.Ref) []engine.Ref {
	claims = slices.Clone(claims)
	for i, ref := range claims {
		m := u.sim.metas([]string{ref.ID})[ref.ID]
		switch {
		case m == nil:
		case !u.has(FencingToken):
			claims[i] = engine.RefOf(m)
		case !u.has(ClaimEnd) && m.LockedBy == "" && m.LockToken == ref.Token:
			u.set(ref.ID, map[string]any{"lockedBy": "nobody"})
		}
	}
	return claims
}

func (u *unprotected) set(id string, fields map[string]any) {
	if err := u.SetFields(context.Background(), id, fields); err != nil {
		panic(err)
	}
}
