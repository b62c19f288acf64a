package cli_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/lockstep-io/lockstep/internal/api"
	"github.com/lockstep-io/lockstep/internal/cli"
)

// Every mistake is answered by a message that names what is wrong and how to
// put it right, and by its exit code.
func TestMistakes(t *testing.T) {
	w := start(t)
	w.story()
	w.refuses([]refusal{
		{"get", cli.Usage, "wrong number of arguments (0): use `lockstep get KIND [ID] [flags]`"},
		{"frobnicate", cli.Usage, `"frobnicate" is not a command of ` + "`lockstep`: see `lockstep --help`"},
		{"creat gateway x", cli.Usage, `"creat" is not a command of ` + "`lockstep`: did you mean \"create\"?"},
		{"create stage x", cli.Usage, `"stage" is not a command of ` + "`lockstep create`: see `lockstep create --help`"},
		{"context list all", cli.Usage, "wrong number of arguments (1)"},
		{"get pods", cli.Usage, `"pods" is not a kind: use one of gateway, domain, `},
		{"get gateway vn8of", cli.Usage, `"vn8of" is not the id of a gateway: that is six of a-z0-9, such as vn8ofl`},
		{"get app vn8ofl-web", cli.Usage, `"vn8ofl-web" is not the id of an app: that is GATEWAY-ENVIRONMENT-NAME, such as vn8ofl-dev-web`},
		{"get stage vn8ofl", cli.Usage, `"vn8ofl" is not the id of a stage: that is GATEWAY-ENVIRONMENT, such as vn8ofl-dev`},
		{"get gateways --nope", cli.Usage, "unknown flag: --nope: see `lockstep get --help`"},
		{"get gateways -o xml", cli.Usage, `--output: "xml" is not a format: use one of table, wide, json, yaml, id`},
		{"get gateway vn8ofl --stuck", cli.Usage, "vn8ofl names one document: leave out the flags that choose among several"},
		{"get stages --region eu", cli.Usage, "--region cannot be used for this list of stages: leave it out"},
		{"get gateways --stuck --older-than yesterday", cli.Refused, "--older-than: use a duration such as 10m or 2h30m"},
		{"get gateway zzzzzz", cli.NotFound, "there is no gateway zzzzzz"},
		{"create gateway shop", cli.Usage, "--region is missing: the region in which it is to live"},
		{"create gateway shop --region mars", cli.Refused, `--region: there is no region "mars": use one of eu, us`},
		{"create gateway Shop --region eu", cli.Refused, "NAME or --name: use at most 63 lower-case letters"},
		{"create gateway shop --region eu --replicas 0", cli.Usage, "--replicas: 0: use a number from 1 to 50"},
		{"create gateway shop --region eu --replicas two", cli.Usage, `invalid argument "two" for "--replicas" flag`},
		{"create gateway shop --region eu --cpu lots", cli.Refused, "--cpu: use a Kubernetes quantity such as 500m or 256Mi"},
		{"create gateway shop --region eu --env A", cli.Usage, `--env: "A": use NAME=VALUE`},
		{"create gateway shop --region eu --state Deleted", cli.Usage, `--state: "Deleted" cannot be asked of a gateway: use one of Running, Stopped`},
		{"create gateway shop --region eu --wait --timeout 0s", cli.Usage, "--timeout: 0s: use a duration above zero, such as 5m"},
		{"create app web --environment dev", cli.Usage, "--gateway is missing: the id of the gateway that it belongs to"},
		{"create app web --gateway x --environment dev", cli.Usage, `--gateway: "x" is not the id of a gateway`},
		{"create app web --gateway vn8ofl --environment dev", cli.Refused, "ClientApp vn8ofl-dev-web exists already"},
		{"create function f -g vn8ofl --code /no/such/file", cli.Usage, "--code: open /no/such/file: no such file or directory"},
		{"create trigger t -g vn8ofl --schedule often --function hello", cli.Refused, "--schedule: expected exactly 5 fields"},
		{"create trigger t -g vn8ofl --schedule @daily --function nosuch", cli.Refused, `--function: gateway vn8ofl has no function "nosuch": make it first`},
		{"set gateway vn8ofl", cli.Usage, "nothing is to change: name at least one setting; see `lockstep set gateway --help`"},
		{"set gateway vn8ofl --state Started", cli.Usage, `--state: "Started" cannot be asked of a gateway: use one of Running, Stopped, Restarting, Deleted`},
		{"set stage vn8ofl-dev --route hello", cli.Usage, `--route: "hello": use [METHOD[,METHOD] ]PATH=FUNCTION`},
		{"set stage vn8ofl-dev --route /a=nosuch", cli.Refused, `--route (number 1): gateway vn8ofl has no function "nosuch": make it first`},
		{"set stage vn8ofl-dev --route /a=hello --no-routes", cli.Usage, "--route and --no-routes contradict each other"},
		{"set domain vn8ofl", cli.Usage, "--custom-domain is missing: name the domain to bind, or use --unbind"},
		{"set domain vn8ofl --custom-domain localhost", cli.Refused, "--custom-domain: use a full domain such as api.example.com"},
		{"delete stage vn8ofl-dev", cli.Usage, "a stage is made and removed with its gateway"},
		{"explain gateway", cli.Usage, "the id of the gateway is missing: `lockstep explain gateway ID`"},
		{"explain --diagram database", cli.Usage, "a database has no lifecycle of its own"},
		{"tree stage vn8ofl", cli.Usage, "a tree is a gateway's"},
		{"get gateways --watch -o json", cli.Usage, "--watch shows tables"},
		{"get gateways --server example.com", cli.Usage, `--server: "example.com" is not the address of a server: use https://HOST[:PORT]`},
		{"get gateways --server http://127.0.0.1:1", cli.Unreachable, "http://127.0.0.1:1 does not answer"},
		{"get gateways --context nosuch", cli.Usage, `there is no context "nosuch": there are none yet`},
		{"get gateways --server http://x --context y", cli.Usage, "--server and --context both name a server"},
	})
}

// Who has no token, or not the right one, is told so.
func TestDenied(t *testing.T) {
	w := start(t, func(cfg *api.Config) { cfg.Auth = viewer{} })
	w.story()
	if _, errs, code := w.lockstep("get", "gateways"); code != cli.Denied || !strings.Contains(errs, "LOCKSTEP_TOKEN") {
		t.Errorf("without a token: exit code %d: %s", code, errs)
	}
	w.vars["LOCKSTEP_TOKEN"] = "viewer"
	w.must("get", "gateways")
	if _, errs, code := w.lockstep("delete", "gateway", "vn8ofl"); code != cli.Denied {
		t.Errorf("without the role: exit code %d: %s", code, errs)
	}
}

// viewer lets one token read.
type viewer struct{}

func (viewer) Authenticate(r *http.Request) (api.Caller, error) {
	switch r.Header.Get("Authorization") {
	case "":
		return api.Caller{}, nil
	case "Bearer viewer":
		return api.Caller{Name: "viewer", Role: api.Viewer, Tenant: api.AllTenants}, nil
	}
	return api.Caller{}, api.Unauthenticated("the token is not valid")
}
