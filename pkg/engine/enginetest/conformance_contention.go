package enginetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/lockstep-io/lockstep/pkg/engine"
)

// The size of the contention tests.
const (
	claimers = 8
	crowd    = 200
	handful  = 25
	rounds   = 3
)

// contentionTests check that each claim, and each end of one, has one winner.
//
// Hole: all replicas try the same documents at once.
func contentionTests(t *testing.T, open func(*testing.T) Harness) {
	test(t, open, "Claims", contendedClaims)
	test(t, open, "Settles", contendedSettles)
}

// winners collects who won which document.
type winners struct {
	mu   sync.Mutex
	docs map[string][]*Widget
}

func (w *winners) add(docs []*Widget) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, doc := range docs {
		w.docs[doc.ID] = append(w.docs[doc.ID], doc)
	}
}

// contendedClaims lets many claimers ask for all documents, over and over.
// In every round each document is claimed exactly once, under the next token.
func contendedClaims(b *bench) {
	ids := make([]string, crowd)
	for i := range ids {
		ids[i] = fmt.Sprintf("w%03d", i)
		b.insert(b.widget(ids[i], func(w *Widget) { w.LockToken = 0 }))
	}
	for round := range rounds {
		won := &winners{docs: map[string][]*Widget{}}
		inParallel(func(n int) { claimAll(b, won, ids, fmt.Sprintf("claimer-%d/%d", n, round)) })
		claimRest(b, won, ids, round)
		for _, id := range ids {
			if docs := won.docs[id]; len(docs) != 1 || docs[0].LockToken != int64(round+1) {
				b.Fatalf("round %d: %s was claimed %d times: tokens %v", round+1, id, len(docs), tokensOf(docs))
			}
		}
		releaseAll(b, won)
	}
}

// claimAll claims what it can get of the documents, a handful at a time, in an
// order of its own.
func claimAll(b *bench, won *winners, ids []string, holder string) {
	ids = slices.Clone(ids)
	rand.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] }) //nolint:gosec // spreads claims, guards nothing
	n := 0
	for set := range slices.Chunk(ids, handful) {
		n++
		docs, err := b.store.Claim(b.ctx, engine.ClaimRequest{
			Rules: b.rules, IDs: set, Holder: holder, Batch: fmt.Sprintf("%s/%d", holder, n),
		})
		if err != nil {
			b.Errorf("%s: %v", holder, err)
			return
		}
		won.add(docs)
	}
}

// claimRest claims those documents that nobody got. Under contention a claim
// that finds nothing is no proof of nothing, on some servers; the next tick
// would find them.
func claimRest(b *bench, won *winners, ids []string, round int) {
	for try := range 5 {
		rest := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return len(won.docs[id]) > 0 })
		if len(rest) == 0 {
			return
		}
		b.Logf("round %d: %d documents were passed over", round+1, len(rest))
		claimAll(b, won, rest, fmt.Sprintf("rest/%d/%d", round, try))
	}
}

// releaseAll ends all claims at once, each by its holder.
func releaseAll(b *bench, won *winners) {
	byHolder := map[string][]*Widget{}
	for _, docs := range won.docs {
		byHolder[docs[0].LockedBy] = append(byHolder[docs[0].LockedBy], docs[0])
	}
	var all sync.WaitGroup
	for holder, docs := range byHolder {
		all.Go(func() {
			c := change(engine.Release)
			c.Holder = holder
			lost, err := b.store.Apply(b.ctx, c, refsOf(docs))
			if err != nil || len(lost) > 0 {
				b.Errorf("release: lost %v, error %v", lost, err)
			}
		})
	}
	all.Wait()
}

// contendedSettles ends one claim many times at once, and one of them wins.
func contendedSettles(b *bench) {
	for i := range 10 {
		doc := b.held(fmt.Sprintf("w%d", i))
		var settled atomic.Int32
		inParallel(func(int) {
			c := change(engine.Relock)
			c.Holder = alice
			lost, err := b.store.Apply(b.ctx, c, refsOf([]*Widget{doc}))
			if err != nil {
				b.Error(err)
			}
			if len(lost) == 0 {
				settled.Add(1)
			}
		})
		if n := settled.Load(); n != 1 {
			b.Errorf("%s: the claim was settled %d times", doc.ID, n)
		}
	}
}

func inParallel(work func(n int)) {
	var all sync.WaitGroup
	for n := range claimers {
		all.Go(func() { work(n) })
	}
	all.Wait()
}

func tokensOf(docs []*Widget) []int64 {
	tokens := make([]int64, len(docs))
	for i, w := range docs {
		tokens[i] = w.LockToken
	}
	return tokens
}
