package cli

import (
	"regexp"
	"slices"
	"strings"

	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/pkg/engine"
)

// kind is what the command line knows of a kind of document.
type kind struct {
	resource.Kind

	// name is how it is called here, aliases how else.
	name    string
	aliases []string
	// id says what the ids of its documents are made of, with an example.
	id, example string
	// path is where a document is in the API, by the parts of its id beyond
	// the gateway's; list where the documents of a gateway are, if there can
	// be several.
	path func(rest string) string
	list string
	// columns are those of tables.
	columns []column
}

// column is one column of a table. A wide one is shown by -o wide only.
type column struct {
	title string
	wide  bool
	value func(d *document) string
}

const gatewaysPath = "/v1/api-gateways"

// kinds are all kinds, in the order of the tree.
var kinds = []*kind{
	{
		Kind: resource.KindApiGateway, name: "gateway", aliases: []string{"gateways", "gw", "api-gateway", "api-gateways", "apigateway"},
		id: "six of a-z0-9", example: "vn8ofl",
		columns: []column{
			id, named("name", "name"), named("region", "region"), state, phase, since, waiting,
			wide(named("tenant", "tenant")), wide(named("replicas", "runtime.replicas")), wide(named("image", "runtime.image")), wide(lockedBy),
		},
	},
	{
		Kind: resource.KindRuntimeDomain, name: "domain", aliases: []string{"domains", "runtime-domain", "runtime-domains", "runtimedomain"},
		id: "the gateway's", example: "vn8ofl", path: fixed("/runtime-domain"),
		columns: []column{
			id, state, phase, since, named("custom domain", "customDomain"), named("served", "customDomainReady"), waiting, wide(lockedBy),
		},
	},
	{
		Kind: resource.KindDatabase, name: "database", aliases: []string{"databases", "db"},
		id: "the gateway's", example: "vn8ofl", path: fixed("/database"),
		columns: []column{id, named("name", "name"), named("user", "user"), state, phase, since},
	},
	{
		Kind: resource.KindEnvironment, name: "environment", aliases: []string{"environments", "env", "envs"},
		id: "GATEWAY-ENVIRONMENT", example: "vn8ofl-dev", list: "/environments", path: below("/environments/"),
		columns: []column{id, named("host", "host"), state, phase, since},
	},
	{
		Kind: resource.KindClientApp, name: "app", aliases: []string{"apps", "client-app", "client-apps", "clientapp"},
		id: "GATEWAY-ENVIRONMENT-NAME", example: "vn8ofl-dev-web", list: "/client-apps", path: appPath,
		columns: []column{id, named("environment", "environment"), named("name", "name"), state, phase, since, waiting, wide(lockedBy)},
	},
	{
		Kind: resource.KindCloudFunction, name: "function", aliases: []string{"functions", "fn", "cloud-function", "cloudfunction"},
		id: "GATEWAY-NAME", example: "vn8ofl-hello", list: "/functions", path: below("/functions/"),
		columns: []column{id, named("name", "name"), named("runtime", "runtime"), named("version", "version"), state, phase, since, waiting, wide(lockedBy)},
	},
	{
		Kind: resource.KindStage, name: "stage", aliases: []string{"stages"},
		id: "GATEWAY-ENVIRONMENT", example: "vn8ofl-dev", list: "/stages", path: below("/stages/"),
		columns: []column{id, state, phase, since, {title: "routes", value: routeCount}, named("suspended", "suspended"), waiting, wide(lockedBy)},
	},
	{
		Kind: resource.KindCronTrigger, name: "trigger", aliases: []string{"triggers", "cron", "cron-trigger", "crontrigger"},
		id: "GATEWAY-NAME", example: "vn8ofl-nightly", list: "/triggers", path: below("/triggers/"),
		columns: []column{
			id, named("schedule", "schedule"), named("zone", "timeZone"), named("function", "function"), state, phase, since,
			named("suspended", "suspended"), waiting, wide(lockedBy),
		},
	},
}

// Columns that several kinds have.
var (
	id       = column{title: "id", value: func(d *document) string { return d.ID }}
	state    = column{title: "state", value: func(d *document) string { return string(d.State) }}
	phase    = column{title: "phase", value: func(d *document) string { return string(d.Phase) }}
	since    = column{title: "since", value: func(d *document) string { return age(d.PhaseAt) }}
	waiting  = column{title: "waiting for", value: (*document).waitingFor}
	lockedBy = named("locked by", "lockedBy")
)

// acrossColumns are those of lists across gateways, which say of every kind
// the same.
var acrossColumns = []column{
	id, named("gateway", "gatewayId"), state, phase, since, named("condition", "condition"),
	wide(lockedBy), wide(named("summary", "summary")),
}

func named(title, field string) column {
	return column{title: title, value: func(d *document) string { return d.text(field) }}
}

func wide(c column) column {
	c.wide = true
	return c
}

func fixed(path string) func(string) string { return func(string) string { return path } }

// below is a path that ends with the id's parts beyond the gateway's.
func below(path string) func(string) string {
	return func(rest string) string {
		if rest == "" {
			return ""
		}
		return path + rest
	}
}

func appPath(rest string) string {
	environment, name, ok := strings.Cut(rest, "-")
	if !ok || !slices.Contains(resource.Environments, environment) {
		return ""
	}
	return "/client-apps/" + environment + "/" + name
}

func routeCount(d *document) string {
	routes, _ := d.fields["routes"].([]any)
	return plural(len(routes), "route")
}

var childID = regexp.MustCompile(`^([a-z0-9]{6})(?:-([a-z0-9-]+))?$`)

// item is where a document is in the API.
func (k *kind) item(id string) (string, error) {
	parts := childID.FindStringSubmatch(id)
	single := k.Kind == resource.KindApiGateway || k.list == ""
	path := ""
	if len(parts) > 0 && single == (parts[2] == "") {
		if path = gatewaysPath + "/" + parts[1]; k.path != nil {
			path += k.path(parts[2])
		}
		if !single && k.path(parts[2]) == "" {
			path = ""
		}
	}
	if path == "" {
		return "", usage("%q is not the id of %s: that is %s, such as %s", id, k.one(), k.id, k.example)
	}
	return path, nil
}

// one is the kind's name with its article.
func (k *kind) one() string {
	if strings.ContainsRune("aeiou", rune(k.name[0])) {
		return "an " + k.name
	}
	return "a " + k.name
}

// states are what a document of the kind can be wanted to be.
func (k *kind) states() []engine.State { return resource.States(k.Kind) }

// kindOf finds a kind by any of its names.
func kindOf(name string) (*kind, error) {
	for _, k := range kinds {
		if lower := strings.ToLower(name); lower == k.name || lower == strings.ToLower(string(k.Kind)) || slices.Contains(k.aliases, lower) {
			return k, nil
		}
	}
	return nil, usage("%q is not a kind: use one of %s", name, strings.Join(kindNames(), ", "))
}

func kindNames() []string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.name
	}
	return names
}
