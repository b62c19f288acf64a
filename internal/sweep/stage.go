package sweep

import (
	"cmp"
	"slices"

	"github.com/lockstep-io/lockstep/internal/driver/kube"
	"github.com/lockstep-io/lockstep/internal/resource"
)

// stage orders removals: a stage begins when the ones before are gone.
type stage int

const (
	served stage = iota
	traffic
	instance
	data
	leaves
	settings
	namespace
)

// leafKinds have no task service. All others do, or are treated as if: asking a
// document to be Deleted that nobody serves does no harm, removing one that is
// served would leave what it stands for.
var leafKinds = []resource.Kind{resource.KindDatabase, resource.KindEnvironment}

func isLeaf(kind resource.Kind) bool { return slices.Contains(leafKinds, kind) }

// stage is when the orphan's turn comes.
func (o *Orphan) stage() stage {
	switch o.Sort {
	case SortDocument:
		if isLeaf(o.child.kind) {
			return leaves
		}
		return served
	case SortDatabase:
		return data
	case SortObject:
	}
	switch o.object.Type {
	case kube.Namespace:
		return namespace
	case kube.Secret, kube.ConfigMap:
		return settings
	case kube.Deployment, kube.Service:
		return instance
	}
	return traffic
}

// inOrder sorts orphans by gateway, and within it in the order of removal.
func inOrder(orphans []Orphan) {
	slices.SortStableFunc(orphans, func(a, b Orphan) int {
		return cmp.Or(
			cmp.Compare(a.GatewayID, b.GatewayID), cmp.Compare(a.stage(), b.stage()),
			cmp.Compare(a.Region, b.Region), cmp.Compare(a.Name, b.Name),
		)
	})
}
