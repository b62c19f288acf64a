package telemetry

import (
	"strings"
	"sync"
)

// maxLabels is how many values a label may take. Kinds, phases and steps are
// written in programs, and are few. If a program ever makes them up as it goes,
// its metrics get coarse instead of growing without end.
const maxLabels = 256

// other is the value of all that are too many.
const other = "other"

// bound keeps a label's values few and printable.
type bound struct{ *boundState }

type boundState struct {
	mu     sync.RWMutex
	labels map[string]string // by value
}

func newBound() bound { return bound{&boundState{labels: map[string]string{}}} }

// label returns the value, or [other] if there are too many others.
func (b bound) label(value string) string {
	b.mu.RLock()
	label, known := b.labels[value]
	b.mu.RUnlock()
	if known {
		return label
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if label, known = b.labels[value]; known {
		return label
	}
	if len(b.labels) >= maxLabels {
		return other
	}
	label = strings.ToValidUTF8(value, "�") // what is none would panic
	b.labels[value] = label
	return label
}
