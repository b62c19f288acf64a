package resource

import (
	"slices"
	"time"

	"github.com/lockstep-io/lockstep/pkg/engine"
)

// Environments are the names of every gateway's environments.
var Environments = []string{"dev", "staging", "prod"}

// Environment is one of a gateway's environments. It is a leaf: the gateway's
// steps create and delete it. The document's _id is "<gatewayId>-<name>".
type Environment struct {
	engine.Meta `bson:",inline"`
	Audited     `bson:",inline"`

	GatewayID string `bson:"gatewayId" json:"gatewayId"`
	Name      string `bson:"name" json:"name"`
	// Host is where the environment is reached.
	Host string `bson:"host" json:"host"`
}

// ClientApp is an API consumer of one environment. Its key is in the
// ApisixConsumer and a Kubernetes Secret, never in the document. The
// document's _id is "<gatewayId>-<environment>-<name>".
type ClientApp struct {
	engine.Meta `bson:",inline"`
	Audited     `bson:",inline"`

	GatewayID   string `bson:"gatewayId" json:"gatewayId"`
	Region      string `bson:"region" json:"region"`
	Environment string `bson:"environment" json:"environment"`
	Name        string `bson:"name" json:"name"`
	// KeyRevision counts how often the user has asked for a new key;
	// KeyRevisionReady is the count whose key is in place. Both are zero for
	// the first key.
	KeyRevision      int64 `bson:"keyRevision,omitempty" json:"keyRevision,omitempty"`
	KeyRevisionReady int64 `bson:"keyRevisionReady,omitempty" json:"keyRevisionReady,omitempty"`
}

// CloudFunction is code that a Stage publishes. The document's _id is
// "<gatewayId>-<name>".
type CloudFunction struct {
	engine.Meta `bson:",inline"`
	Audited     `bson:",inline"`

	GatewayID string `bson:"gatewayId" json:"gatewayId"`
	Region    string `bson:"region" json:"region"`
	Name      string `bson:"name" json:"name"`
	// Runtime is the language the code is in, such as "javascript".
	Runtime string `bson:"runtime" json:"runtime"`
	Code    string `bson:"code" json:"code"`
	// Version rises with every change of the code.
	Version int64 `bson:"version" json:"version"`
	// Versions are those before, oldest first, as many as there is room for
	// (see [CloudFunction.Superseded]).
	Versions []FunctionVersion `bson:"versions,omitempty" json:"-"`
}

// FunctionVersion is what a function was before a change.
type FunctionVersion struct {
	Version int64  `bson:"version" json:"version"`
	Runtime string `bson:"runtime" json:"runtime"`
	Code    string `bson:"code" json:"code"`
	// Until is when it was superseded.
	Until time.Time `bson:"until" json:"until,omitzero"`
}

// Limits of the versions that are kept. Claims read whole documents, so these
// must not grow large.
const (
	MaxVersions     = 20
	MaxVersionBytes = 256 << 10
)

// Superseded are the versions to keep once the function's present code is
// superseded: the latest, at least one.
func (f *CloudFunction) Superseded(at time.Time) []FunctionVersion {
	kept := append(slices.Clone(f.Versions), FunctionVersion{Version: f.Version, Runtime: f.Runtime, Code: f.Code, Until: at})
	size, from := 0, len(kept)
	for from > 0 && len(kept)-from < MaxVersions {
		size += len(kept[from-1].Code)
		if size > MaxVersionBytes && from < len(kept) {
			break
		}
		from--
	}
	return kept[from:]
}

// At returns a version, the present one or one that is kept.
func (f *CloudFunction) At(version int64) (FunctionVersion, bool) {
	if version == f.Version {
		return FunctionVersion{Version: f.Version, Runtime: f.Runtime, Code: f.Code}, true
	}
	i := slices.IndexFunc(f.Versions, func(v FunctionVersion) bool { return v.Version == version })
	if i < 0 {
		return FunctionVersion{}, false
	}
	return f.Versions[i], true
}

// Stage is what is published to an environment: functions, copied into the
// gateway's own database, and the routes that lead to them, at the
// environment's host. The document's _id is "<gatewayId>-<environment>".
type Stage struct {
	engine.Meta `bson:",inline"`
	Audited     `bson:",inline"`

	GatewayID   string  `bson:"gatewayId" json:"gatewayId"`
	Region      string  `bson:"region" json:"region"`
	Environment string  `bson:"environment" json:"environment"`
	Routes      []Route `bson:"routes,omitempty" json:"routes,omitempty"`
	// Suspended is the user's wish to keep the stage inactive while its gateway
	// runs.
	Suspended bool `bson:"suspended,omitempty" json:"suspended,omitempty"`
	// PublishedGeneration is the generation whose functions and routes are in
	// place.
	PublishedGeneration int64 `bson:"publishedGeneration,omitempty" json:"publishedGeneration,omitempty"`
}

// Route leads requests of a path and methods to a function.
type Route struct {
	// Path begins with "/"; a trailing "*" matches every path below.
	Path    string   `bson:"path" json:"path"`
	Methods []string `bson:"methods,omitempty" json:"methods,omitempty"`
	// Function is the name of one of the gateway's functions.
	Function string `bson:"function" json:"function"`
}

// CronTrigger is a function's schedule. It is Inactive while its gateway is
// stopped. So far it is kept, and follows its gateway: nothing calls the function
// yet. The document's _id is "<gatewayId>-<name>".
type CronTrigger struct {
	engine.Meta `bson:",inline"`
	Audited     `bson:",inline"`

	GatewayID string `bson:"gatewayId" json:"gatewayId"`
	Region    string `bson:"region" json:"region"`
	Name      string `bson:"name" json:"name"`
	// Schedule is a cron expression of five fields, TimeZone an IANA name.
	Schedule string `bson:"schedule" json:"schedule"`
	TimeZone string `bson:"timeZone,omitempty" json:"timeZone,omitempty"`
	Function string `bson:"function" json:"function"`
	// Suspended is the user's wish to keep the trigger inactive while its
	// gateway runs.
	Suspended bool `bson:"suspended,omitempty" json:"suspended,omitempty"`
}
