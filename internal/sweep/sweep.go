package sweep

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/lockstep-io/lockstep/internal/driver/kube"
	"github.com/lockstep-io/lockstep/internal/resource"
)

// Documents are the gateways' documents, as [Open] gives them.
type Documents interface {
	Lookup
	Tree
	Hands
}

// Lookup answers whether documents exist. Whatever is not an answer is an
// error.
type Lookup interface {
	// Missing returns those of the ids that no document of the kind has.
	Missing(ctx context.Context, kind resource.Kind, ids []string) ([]string, error)
	// Issued returns those of the gateway ids that were given out here, at any
	// time.
	Issued(ctx context.Context, gatewayIDs []string) ([]string, error)
}

// Tree reads the documents below gateways.
type Tree interface {
	// Children returns the next documents of a kind in the order of their ids,
	// beginning after the given one; none at the end.
	Children(ctx context.Context, kind resource.Kind, after string) ([]*resource.Header, error)
	// Now is the database's time.
	Now(ctx context.Context) (time.Time, error)
}

// Hands removes children.
type Hands interface {
	// AskDeleted sets the state Deleted, for the document's service to act on.
	AskDeleted(ctx context.Context, kind resource.Kind, id string) error
	// RemoveLeaf removes a gateway's documents of a kind without a service.
	RemoveLeaf(ctx context.Context, kind resource.Kind, gatewayID string) error
}

// Cluster is a region's Kubernetes, as [kube.Client].
type Cluster interface {
	ListManaged(ctx context.Context, gatewayID string) ([]kube.ObjectRef, error)
	Delete(ctx context.Context, owner resource.Owner, ref kube.Ref) (gone bool, err error)
}

// Databases is a region's MongoDB server, as mongoadmin's Client.
type Databases interface {
	// ListGateways returns the ids of the gateways that have a database or a
	// user.
	ListGateways(ctx context.Context) ([]string, error)
	// RemoveOrphan drops both, unless verify returns an error right before.
	RemoveOrphan(ctx context.Context, gatewayID string, verify func(context.Context) error) (waiting string, err error)
}

// Region is where gateways have objects and databases. What is nil is not
// looked at.
type Region struct {
	Name      string
	Cluster   Cluster
	Databases Databases
}

// Options configure a sweeper. Zero values take the defaults.
type Options struct {
	// Remove makes a pass remove what it finds, rather than only report it.
	Remove bool
	// Grace is how old everything of a gateway must be (1 minute); negative for
	// none.
	Grace time.Duration
	// Interval is the time between the passes of [Sweeper.Run] (1 minute).
	Interval time.Duration
	// Limit is the number of gateways above which nothing is removed (10);
	// negative for none.
	Limit int
	// Only, if set, restricts the sweeper to gateways for which it is true.
	Only func(gatewayID string) bool
	// OnReport, if set, is told the result of each pass of [Sweeper.Run].
	OnReport func(*Report, error)
	// Log is silent if nil.
	Log *zap.Logger
}

// The defaults of [Options].
const (
	DefaultGrace    = time.Minute
	DefaultInterval = time.Minute
	DefaultLimit    = 10
)

// Sweeper finds and removes orphans. It is safe for concurrent use; two that
// remove at once do no harm, but may report each other's removals as failures.
type Sweeper struct {
	docs    Documents
	regions []Region
	opts    Options
}

// New returns a sweeper of the documents and the regions. It does no I/O.
func New(docs Documents, regions []Region, opts Options) *Sweeper {
	if opts.Grace == 0 {
		opts.Grace = DefaultGrace
	}
	if opts.Interval == 0 {
		opts.Interval = DefaultInterval
	}
	if opts.Limit == 0 {
		opts.Limit = DefaultLimit
	}
	if opts.Only == nil {
		opts.Only = func(string) bool { return true }
	}
	if opts.OnReport == nil {
		opts.OnReport = func(*Report, error) {}
	}
	if opts.Log == nil {
		opts.Log = zap.NewNop()
	}
	return &Sweeper{docs: docs, regions: regions, opts: opts}
}
