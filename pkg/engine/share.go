package engine

// share keeps replicas out of each other's way: of the documents that are due,
// a replica claims those that fall to it first, and leaves those that fall to
// others to them, for a tick. What is still due by then is claimed by whoever
// sees it: the owner may be dead, or have too much to do.
type share struct {
	mine func(id string) bool
	// left are the documents that the sweep before left to others, leaving
	// those that this one does.
	left, leaving map[string]bool
}

// begin begins a sweep.
func (s *share) begin() { s.left, s.leaving = s.leaving, map[string]bool{} }

// pick returns the documents to claim: first this replica's own, then those
// that others have left undone.
func (s *share) pick(ids []string) []string {
	if s.mine == nil {
		return ids
	}
	var own, late []string
	for _, id := range ids {
		if s.mine(id) {
			own = append(own, id)
			continue
		}
		s.leaving[id] = true
		if s.left[id] {
			late = append(late, id)
		}
	}
	return append(own, late...)
}
