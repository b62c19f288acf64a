package enginetest

import (
	"time"

	"github.com/lockstep-io/lockstep/pkg/engine"
)

// Widget is the document of the conformance suite: the engine's fields, and
// enough of its own (a nested document, a list, a time, a map) to see that a
// store leaves them as they are.
type Widget struct {
	engine.Meta `bson:",inline"`
	Spec        WidgetSpec        `bson:"spec"`
	Labels      map[string]string `bson:"labels,omitempty"`
}

// WidgetSpec is the nested document of a [Widget].
type WidgetSpec struct {
	Size    int       `bson:"size"`
	Colour  string    `bson:"colour,omitempty"`
	Parts   []string  `bson:"parts,omitempty"`
	BuiltAt time.Time `bson:"builtAt,omitempty"`
}

// The states of a [Widget].
const (
	Running    engine.State = "Running"
	Restarting engine.State = "Restarting"
	Stopped    engine.State = "Stopped"
	Deleted    engine.State = "Deleted"
)

// The phases of a [Widget].
const (
	Pending engine.Phase = "Pending"
	Ready   engine.Phase = "Ready"
	Idle    engine.Phase = "Idle"
	Leaving engine.Phase = "Leaving"
)

// WidgetKind is the kind of widgets: by convention the name of their
// collection.
const WidgetKind = "widgets"

// WidgetRules are the rules under which the suite claims widgets. They have
// one of each sort of match: a phase in whatever state (Pending), a state in
// whatever phase (Deleted), and a pair. (Running, Ready) rests with a resync;
// (Stopped, Idle) rests for good.
func WidgetRules() engine.Rules {
	return engine.Rules{
		Kind:        WidgetKind,
		LockTimeout: engine.DefaultLockTimeout,
		Unsettled: []engine.Match{
			{Phase: Pending},
			{State: Deleted},
			{State: Restarting, Phase: Ready},
			{State: Stopped, Phase: Ready},
			{State: Running, Phase: Idle},
		},
		Resync: []engine.Match{{State: Running, Phase: Ready}},
	}
}
