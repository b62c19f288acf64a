package config

import "time"

// Config is a checked configuration.
//
// Tags: env is the variable, without [Prefix]; unit is what the value is, in a
// word; min, max and oneof bound it; required says that there is no default,
// and how to give one; region names the field of a region that the option
// sets. An option without a doc is for tests and not shown.
type Config struct {
	MongoDB MongoDB
	HTTP    HTTP
	// Replica is this process among the others. It is unique to the process:
	// the name of a pod alone is not, because its container can be restarted.
	Replica string `env:"REPLICA" unit:"name" doc:"name of this replica, unique among all (default POD_NAME, or the host's name, and a random suffix)"`
	// Regions are those of the file, or the one that the options describe.
	Regions Regions `env:"-"`
	Engine  Engine
	Log     Log
	Auth    Auth
	// Orphans is what is done with them.
	Orphans string `env:"ORPHANS" envDefault:"report" unit:"what" oneof:"report,remove" doc:"what one replica at a time does, each minute, with documents, objects and databases whose gateway is gone"`
	Test    Test
	// Warnings are about what was given but has no effect.
	Warnings []string `env:"-"`
}

// RemoveOrphans is the value of Orphans for which they are removed.
const RemoveOrphans = "remove"

// MongoDB is where the documents are kept.
type MongoDB struct {
	URI      Secret `env:"MONGODB_URI" unit:"uri" required:"set it to the address of MongoDB, such as mongodb://localhost:27017" doc:"address of MongoDB; MONGODB_URI is taken, too"`
	Database string `env:"DATABASE" envDefault:"lockstep" unit:"name" doc:"database of the documents"`
}

// HTTP is the API's server. Metrics and probes are served by it as well.
type HTTP struct {
	Listen string `env:"LISTEN" envDefault:":8080" unit:"address" doc:"address of the API, the metrics (/metrics) and the probes"`
}

// Engine is how the task services work.
type Engine struct {
	Workers     int           `env:"WORKERS" envDefault:"8" unit:"documents" min:"1" max:"1024" doc:"documents of one kind that are worked on at once"`
	Interval    time.Duration `env:"INTERVAL" envDefault:"1s" unit:"duration" min:"10ms" max:"1m" doc:"how often the store is asked for work when no hint comes"`
	LockTimeout time.Duration `env:"LOCK_TIMEOUT" envDefault:"30s" unit:"duration" min:"1s" max:"1h" doc:"how long a claim lasts unless it is renewed; the same on all replicas"`
	Batch       int           `env:"BATCH" envDefault:"512" unit:"documents" min:"1" max:"10000" doc:"most documents claimed in one write"`
	Grace       time.Duration `env:"GRACE" envDefault:"60s" unit:"duration" min:"1ms" max:"1h" doc:"how long work in flight may go on at shutdown; less than the pod's terminationGracePeriodSeconds"`
}

// Log is how the service logs.
type Log struct {
	Level  string `env:"LOG_LEVEL" envDefault:"info" unit:"level" oneof:"debug,info,warn,error" doc:"least level that is logged"`
	Format string `env:"LOG_FORMAT" envDefault:"json" unit:"format" oneof:"json,console" doc:"how it is logged"`
}

// Auth is who may use the API. Each way that is configured is accepted.
type Auth struct {
	TokensFile   string `env:"AUTH_TOKENS_FILE" unit:"file" doc:"file of grants: which tokens, users and groups may do what"`
	OIDCIssuer   string `env:"AUTH_OIDC_ISSUER" unit:"url" doc:"issuer of OpenID Connect tokens"`
	OIDCAudience string `env:"AUTH_OIDC_AUDIENCE" unit:"name" doc:"audience that OpenID Connect tokens must be for"`
	Kubernetes   bool   `env:"AUTH_KUBERNETES" envDefault:"false" unit:"bool" doc:"accept Kubernetes service account tokens, reviewed by the first region's cluster"`
	Open         bool   `env:"AUTH_OPEN" envDefault:"false" unit:"bool" doc:"let everybody in, as admin: only where nobody else can reach the API"`
}

// Test is what only tests may ask for ([checkTesting]).
type Test struct {
	// ClockOffset is added to the time that this replica believes it is.
	ClockOffset time.Duration `env:"TEST_CLOCK_OFFSET" unit:"duration" min:"-24h" max:"24h"`
	// Record is a file to which each call to the stores and clusters is
	// written (package testrecord).
	Record string `env:"TEST_RECORD" unit:"file"`
	// Without is a protection to do without.
	Without string `env:"TEST_WITHOUT" unit:"protection" oneof:",token,trust"`
}

// Enabled reports whether any way of authentication is configured.
func (a Auth) Enabled() bool {
	return a.TokensFile != "" || a.OIDCIssuer != "" || a.Kubernetes
}

// settings are all options: those of [Config], and those that make its regions.
type settings struct {
	Config
	File struct {
		RegionsFile string `env:"REGIONS" unit:"file" doc:"YAML or JSON file with a list of regions, instead of the options of the one region"`
	}
	Region oneRegion
}

// oneRegion describes the region of a simple installation.
type oneRegion struct {
	RegionName       string `env:"REGION_NAME" envDefault:"default" unit:"name" region:"name" doc:"name of the one region"`
	Kubeconfig       string `env:"KUBECONFIG" unit:"file" region:"kubeconfig" doc:"kubeconfig of its cluster (default: the cluster that the service runs in)"`
	IngressClass     string `env:"INGRESS_CLASS" envDefault:"apisix" unit:"name" region:"ingressClass" doc:"ingress class of APISIX there"`
	DomainSuffix     string `env:"DOMAIN_SUFFIX" unit:"domain" region:"domainSuffix" required:"set it to the domain under which gateways get their hosts, or describe the regions in a file (--regions)" doc:"domain under which gateways get their hosts"`
	TLS              bool   `env:"TLS" envDefault:"false" unit:"bool" region:"tls" doc:"serve the hosts under the domain suffix by HTTPS"`
	WildcardSecret   string `env:"WILDCARD_SECRET" unit:"namespace/name" region:"wildcardSecret" doc:"Secret with the certificate of these hosts"`
	ClusterIssuer    string `env:"CLUSTER_ISSUER" unit:"name" region:"clusterIssuer" required:"set it to cert-manager's ClusterIssuer for custom domains" doc:"cert-manager's ClusterIssuer for custom domains"`
	RuntimeMongoURI  Secret `env:"RUNTIME_MONGODB_URI" unit:"uri" region:"runtimeMongoUri" doc:"MongoDB on which the gateways' own databases and users are made (default: that of --mongodb-uri)"`
	RuntimeImage     string `env:"RUNTIME_IMAGE" unit:"image" region:"runtimeImage" required:"set it to the image that gateways run" doc:"image that gateways run"`
	RuntimeReplicas  int32  `env:"RUNTIME_REPLICAS" envDefault:"1" unit:"pods" min:"1" max:"100" region:"runtimeReplicas" doc:"pods of a gateway"`
	ApisixAcceptance string `env:"APISIX_ACCEPTANCE" envDefault:"controller" unit:"by" oneof:"controller,apiserver" region:"apisixAcceptance" doc:"what accepts APISIX objects: the ingress controller, or the API server alone where no controller runs"`
}
