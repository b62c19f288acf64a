package engine

import "sync"

// hints collects the ids of documents to look at, each once, and wakes the
// fetcher. A hint for a document that this replica is working on is kept until
// that work has ended: what the hint tells of may have come too late for it.
type hints struct {
	wake chan struct{}
	*hintState
}

type hintState struct {
	mu     sync.Mutex
	ids    map[string]struct{}
	aloft  map[string]struct{} // being worked on here
	missed map[string]struct{} // hinted meanwhile
}

func newHints() hints {
	return hints{
		wake: make(chan struct{}, 1),
		hintState: &hintState{
			ids: map[string]struct{}{}, aloft: map[string]struct{}{}, missed: map[string]struct{}{},
		},
	}
}

func (h *hints) add(ids ...string) {
	h.mu.Lock()
	for _, id := range ids {
		if _, ok := h.aloft[id]; ok {
			h.missed[id] = struct{}{}
		} else {
			h.ids[id] = struct{}{}
		}
	}
	h.mu.Unlock()
	h.ring()
}

func (h *hints) ring() {
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// take removes and returns at most n ids.
func (h *hints) take(n int) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var ids []string
	for id := range h.ids {
		if len(ids) == n {
			break
		}
		ids = append(ids, id)
		delete(h.ids, id)
	}
	return ids
}

// pending is how many documents are named.
func (h *hints) pending() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.ids)
}

// flying notes that a document is being worked on here. A hint that came while
// it was being claimed is for later too.
func (h *hints) flying(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.aloft[id] = struct{}{}
	if _, early := h.ids[id]; early {
		delete(h.ids, id)
		h.missed[id] = struct{}{}
	}
}

// landed notes that it is not any more.
func (h *hints) landed(id string) {
	h.mu.Lock()
	_, again := h.missed[id]
	delete(h.missed, id)
	delete(h.aloft, id)
	if again {
		h.ids[id] = struct{}{}
	}
	h.mu.Unlock()
	if again {
		h.ring()
	}
}
