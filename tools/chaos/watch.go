package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/pkg/engine"
)

// historian reads the documents' histories, again and again, and checks that
// phases move only along the edges of the definition.
type historian struct {
	servers *servers
	wg      sync.WaitGroup

	mu         sync.Mutex
	seen       map[string]bool // entries
	moves      int
	documents  map[string]bool
	overdue    map[string]bool
	violations []string
}

func newHistorian(s *servers) *historian {
	return &historian{servers: s, seen: map[string]bool{}, documents: map[string]bool{}, overdue: map[string]bool{}}
}

// historyEvery is often enough for no entry to be pushed out of a history
// before it was read.
const historyEvery = 3 * time.Second

func (h *historian) watch(ctx context.Context) {
	h.wg.Go(func() {
		for ; ctx.Err() == nil; pauseFor(ctx, historyEvery) {
			h.read(ctx)
		}
	})
}

func (h *historian) wait() { h.wg.Wait() }

func (h *historian) read(ctx context.Context) {
	for kind, life := range lifecycles {
		docs, err := h.servers.headers(ctx, kind, false)
		if err != nil {
			continue // a fault is under way
		}
		h.mu.Lock()
		for _, d := range docs {
			h.check(kind, life, &d.Meta)
		}
		h.mu.Unlock()
	}
}

func (h *historian) check(kind resource.Kind, life lifecycle, m *engine.Meta) {
	h.documents[string(kind)+"/"+m.ID] = true
	at := engine.Phase("")
	for _, e := range m.History {
		key := fmt.Sprint(kind, m.ID, e.At.UnixNano(), e.From, e.To, e.Step, e.By)
		fresh := !h.seen[key]
		h.seen[key] = true
		wrong := ""
		switch {
		case at != "" && e.From != at:
			wrong = fmt.Sprintf("is in %s after %s", e.From, at)
		case e.Step == "" && !life.edges[edge{e.From, e.To}]:
			wrong = fmt.Sprintf("moved from %s to %s, which is no edge", e.From, e.To)
		case e.Step != "" && e.From != e.To:
			wrong = fmt.Sprintf("moved from %s to %s at a checkpoint", e.From, e.To)
		}
		if at = e.To; !fresh {
			continue
		}
		if e.Step == "" {
			h.moves++
		}
		if wrong != "" {
			h.violations = append(h.violations, fmt.Sprintf("%s %s %s (by %s at %s)", kind, m.ID, wrong, e.By, e.At.Format(time.RFC3339Nano)))
		}
	}
	if at != "" && at != m.Phase {
		h.violations = append(h.violations, fmt.Sprintf("%s %s is in %s, and its history ends in %s", kind, m.ID, m.Phase, at))
	}
}

// snapshot is where a document stood.
type snapshot struct {
	kind resource.Kind
	doc  *resource.Header
}

// inFlight reads the documents that are on their way.
func (s *servers) inFlight(ctx context.Context) (map[string]snapshot, error) {
	found := map[string]snapshot{}
	for kind, life := range lifecycles {
		docs, err := s.headers(ctx, kind, true)
		if err != nil {
			return nil, err
		}
		for _, d := range docs {
			if !life.rests(&d.Meta) {
				found[string(kind)+"/"+d.ID] = snapshot{kind, d}
			}
		}
	}
	return found, nil
}

// recoveryMost is how long a recovery is waited for.
const recoveryMost = 2 * time.Minute

// recovery waits until each of the documents has moved on: it was claimed
// anew, written to, has come to rest, or is gone. It returns how long that
// took, and which have not.
func (s *servers) recovery(ctx context.Context, since stopwatch, waiting map[string]snapshot) (longest time.Duration, stuck []string) {
	for len(waiting) > 0 && ctx.Err() == nil && since.read() < recoveryMost {
		for kind, life := range lifecycles {
			docs, err := s.headers(ctx, kind, true)
			if err != nil {
				continue
			}
			now := map[string]*resource.Header{}
			for _, d := range docs {
				now[string(kind)+"/"+d.ID] = d
			}
			for key, before := range waiting {
				d := now[key]
				if before.kind == kind && (d == nil || d.LockToken != before.doc.LockToken ||
					!d.UpdatedAt.Equal(before.doc.UpdatedAt) || life.rests(&d.Meta)) {
					delete(waiting, key)
					longest = max(longest, since.read())
				}
			}
		}
		pauseFor(ctx, 300*time.Millisecond)
	}
	for key, before := range waiting {
		stuck = append(stuck, fmt.Sprintf("%s (%s/%s, %s)", key, before.doc.State, before.doc.Phase, before.doc.WaitingFor))
	}
	return longest, stuck
}
