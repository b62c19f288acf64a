package config

import (
	"errors"
	"io/fs"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/pkg/engine"
)

// system is a host named "host" with the given variables and one file.
func system(file string, environ ...string) System {
	return System{
		Environ:  environ,
		Hostname: func() (string, error) { return "host", nil },
		Suffix:   func() string { return "x7k2" },
		ReadFile: func(name string) ([]byte, error) {
			if name != "regions.yaml" {
				return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
			}
			return []byte(file), nil
		},
	}
}

// least is the shortest environment with which the service starts.
var least = []string{
	"LOCKSTEP_MONGODB_URI=mongodb://db:27017", "LOCKSTEP_DOMAIN_SUFFIX=eu.example.com",
	"LOCKSTEP_CLUSTER_ISSUER=letsencrypt", "LOCKSTEP_RUNTIME_IMAGE=runtime:1",
}

func TestDefaults(t *testing.T) {
	got, err := Load(nil, system("", least...))
	if err != nil {
		t.Fatal(err)
	}
	want := Config{
		MongoDB: MongoDB{URI: NewSecret("mongodb://db:27017"), Database: "lockstep"},
		HTTP:    HTTP{Listen: ":8080"},
		Replica: "host-x7k2",
		Orphans: "report",
		Regions: Regions{{
			Name: "default", IngressClass: "apisix", DomainSuffix: "eu.example.com", ClusterIssuer: "letsencrypt",
			RuntimeMongoURI: "mongodb://db:27017", RuntimeImage: "runtime:1", RuntimeReplicas: 1,
			ApisixAcceptance: resource.AcceptedByController,
		}},
		Engine: Engine{
			Workers: engine.DefaultWorkers, Interval: engine.DefaultInterval, LockTimeout: engine.DefaultLockTimeout,
			Batch: engine.DefaultBatch, Grace: engine.DefaultGrace,
		},
		Log: Log{Level: "info", Format: "json"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if got.Auth.Enabled() {
		t.Error("authentication is on without a way to authenticate")
	}
}

func TestSources(t *testing.T) {
	for _, test := range []struct {
		name    string
		args    []string
		environ []string
		get     func(Config) any
		want    any
	}{
		{"variable", nil, []string{"LOCKSTEP_WORKERS=3"}, func(c Config) any { return c.Engine.Workers }, 3},
		{"flag", []string{"--workers", "4"}, nil, func(c Config) any { return c.Engine.Workers }, 4},
		{"flag before variable", []string{"--workers=4"}, []string{"LOCKSTEP_WORKERS=3"}, func(c Config) any { return c.Engine.Workers }, 4},
		{"flag before wrong variable", []string{"--workers=4"}, []string{"LOCKSTEP_WORKERS=x"}, func(c Config) any { return c.Engine.Workers }, 4},
		{"empty variable is none", nil, []string{"LOCKSTEP_WORKERS="}, func(c Config) any { return c.Engine.Workers }, 8},
		{"empty flag is the default", []string{"--workers="}, []string{"LOCKSTEP_WORKERS=3"}, func(c Config) any { return c.Engine.Workers }, 8},
		{"duration", []string{"--grace", "1m30s"}, nil, func(c Config) any { return c.Engine.Grace }, 90 * time.Second},
		{"least grace", []string{"--grace", "1ms"}, nil, func(c Config) any { return c.Engine.Grace }, time.Millisecond},
		{"flag without a value", []string{"--auth-kubernetes"}, nil, func(c Config) any { return c.Auth.Kubernetes }, true},
		{"flag with a value", []string{"--tls=false"}, []string{"LOCKSTEP_TLS=true"}, func(c Config) any { return c.Regions[0].TLS }, false},
		{"pod", nil, []string{"POD_NAME=lockstep-0"}, func(c Config) any { return c.Replica }, "lockstep-0-x7k2"},
		{"replica", []string{"--replica", "a"}, []string{"POD_NAME=lockstep-0"}, func(c Config) any { return c.Replica }, "a"},
		{"mongodb", nil, []string{"MONGODB_URI=mongodb://other"}, func(c Config) any { return c.MongoDB.URI.Reveal() }, "mongodb://db:27017"},
		{"own store for runtimes", []string{"--runtime-mongodb-uri=mongodb://rt"}, nil, func(c Config) any { return c.Regions[0].RuntimeMongoURI }, "mongodb://rt"},
		{"any port", []string{"--listen=127.0.0.1:0"}, nil, func(c Config) any { return c.HTTP.Listen }, "127.0.0.1:0"},
		{"clock offset in tests", []string{"--test-clock-offset=-10m"}, []string{"LOCKSTEP_TESTING=1"}, func(c Config) any { return c.Test.ClockOffset }, -10 * time.Minute},
		{"srv is not looked up", []string{"--mongodb-uri=mongodb+srv://u:p@cluster.invalid/"}, nil, func(c Config) any { return c.MongoDB.URI.Empty() }, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, err := Load(test.args, system("", append(test.environ, least...)...))
			if err != nil {
				t.Fatal(err)
			}
			if got := test.get(c); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestMongoFallback(t *testing.T) {
	c, err := Load(nil, system("", append([]string{"MONGODB_URI=mongodb://fallback"}, least[1:]...)...))
	if err != nil || c.MongoDB.URI.Reveal() != "mongodb://fallback" {
		t.Errorf("got %q, %v", c.MongoDB.URI.Reveal(), err)
	}
}

func TestWarnsOfMisspeltVariables(t *testing.T) {
	c, err := Load(nil, system("", append(least, "LOCKSTEP_WORKRES=3",
		"LOCKSTEP_SERVICE_HOST=10.0.0.1", "LOCKSTEP_PORT=tcp://10.0.0.1:80", "LOCKSTEP_CACHE=/c", "LOCKSTEP_TEST_MONGO_IMAGE=i")...))
	if err != nil || len(c.Warnings) != 1 || !strings.Contains(c.Warnings[0], "LOCKSTEP_WORKRES") {
		t.Errorf("got %q, %v; want a warning of LOCKSTEP_WORKRES alone", c.Warnings, err)
	}
}

func TestMistakes(t *testing.T) {
	for _, test := range []struct {
		name string
		args []string
		want string // a part of the one mistake
	}{
		{"number", []string{"--workers=abc"}, `--workers (LOCKSTEP_WORKERS) is "abc": use a whole number from 1 to 1024`},
		{"too small", []string{"--workers=0"}, `--workers (LOCKSTEP_WORKERS) is "0"`},
		{"too big", []string{"--workers=99999999999999999999"}, `is "99999999999999999999": use a whole number`},
		{"duration", []string{"--interval=1"}, `--interval (LOCKSTEP_INTERVAL) is "1": use a duration from 10ms to 1m, such as 1s`},
		{"too short", []string{"--interval=1ms"}, `--interval (LOCKSTEP_INTERVAL) is "1ms"`},
		{"none", []string{"--grace=0s"}, `--grace (LOCKSTEP_GRACE) is "0s"`},
		{"choice", []string{"--log-level=loud"}, `--log-level (LOCKSTEP_LOG_LEVEL) is "loud": use debug or info or warn or error`},
		{"bool", []string{"--tls=maybe"}, `--tls (LOCKSTEP_TLS) is "maybe": use true or false`},
		{"listen", []string{"--listen=8080"}, `--listen (LOCKSTEP_LISTEN) is "8080": use HOST:PORT`},
		{"port", []string{"--listen=:65536"}, `--listen (LOCKSTEP_LISTEN) is ":65536"`},
		{"database", []string{"--database=a.b"}, `--database (LOCKSTEP_DATABASE) is "a.b"`},
		{"replica", []string{"--replica=a b"}, `--replica (LOCKSTEP_REPLICA) is "a b"`},
		{"batch", []string{"--workers=16", "--batch=8"}, `--batch (LOCKSTEP_BATCH) is "8": use at least the number of workers (16)`},
		{"lock", []string{"--interval=20s"}, `--lock-timeout (LOCKSTEP_LOCK_TIMEOUT) is "30s": use at least twice the interval`},
		{"issuer", []string{"--auth-oidc-issuer=http://a.example", "--auth-oidc-audience=x"}, `--auth-oidc-issuer (LOCKSTEP_AUTH_OIDC_ISSUER) is "http://a.example": use the https://`},
		{"audience", []string{"--auth-oidc-issuer=https://a.example"}, `--auth-oidc-audience (LOCKSTEP_AUTH_OIDC_AUDIENCE) is not set`},
		{"audience alone", []string{"--auth-oidc-audience=x"}, `--auth-oidc-issuer (LOCKSTEP_AUTH_OIDC_ISSUER) is not set`},
		{"clock", []string{"--test-clock-offset=1m"}, `--test-clock-offset (LOCKSTEP_TEST_CLOCK_OFFSET) is "1m0s": leave it out`},
		{"region name", []string{"--region-name=EU"}, `--region-name (LOCKSTEP_REGION_NAME) is "EU"`},
		{"domain", []string{"--domain-suffix=.example.com"}, `--domain-suffix (LOCKSTEP_DOMAIN_SUFFIX) is ".example.com": use a domain`},
		{"replicas", []string{"--runtime-replicas=0"}, `--runtime-replicas (LOCKSTEP_RUNTIME_REPLICAS) is "0"`},
		{"replicas text", []string{"--runtime-replicas=two"}, `--runtime-replicas (LOCKSTEP_RUNTIME_REPLICAS) is "two"`},
		{"acceptance", []string{"--apisix-acceptance=x"}, `--apisix-acceptance (LOCKSTEP_APISIX_ACCEPTANCE) is "x": use controller or apiserver`},
		{"wildcard", []string{"--tls"}, `--wildcard-secret (LOCKSTEP_WILDCARD_SECRET) is not set: with tls on`},
		{"no file", []string{"--domain-suffix=", "--cluster-issuer=", "--runtime-image=", "--regions=r.yaml"}, `--regions (LOCKSTEP_REGIONS) is "r.yaml": there is no such file`},
		{"uri", []string{"--mongodb-uri=http://u:hunter2@db", "--runtime-mongodb-uri=mongodb://ok"}, `--mongodb-uri (LOCKSTEP_MONGODB_URI) is not the address of a MongoDB: use mongodb://`},
		{"runtime uri", []string{"--runtime-mongodb-uri=mongodb://u:hunter2:x@db"}, `--runtime-mongodb-uri (LOCKSTEP_RUNTIME_MONGODB_URI) is not the address`},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := Load(test.args, system("", least...))
			var mistakes Mistakes
			if !errors.As(err, &mistakes) || len(mistakes) != 1 {
				t.Fatalf("got %v, want one mistake", err)
			}
			if !strings.Contains(mistakes[0].Error(), test.want) {
				t.Errorf("got  %s\nwant %s", mistakes[0], test.want)
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the message shows a password: %s", err)
			}
		})
	}
}

func TestAllMistakesAtOnce(t *testing.T) {
	_, err := Load([]string{"--workers=abc", "--interval=x", "--log-format=xml"}, system(""))
	var mistakes Mistakes
	if !errors.As(err, &mistakes) {
		t.Fatal(err)
	}
	for _, option := range []string{"--workers", "--interval", "--log-format", "--mongodb-uri", "--domain-suffix", "--cluster-issuer", "--runtime-image"} {
		if !strings.Contains(err.Error(), "\n  "+option+" (LOCKSTEP_") {
			t.Errorf("%s is not named in: %v", option, err)
		}
	}
	if len(mistakes) != 7 {
		t.Errorf("%d mistakes, want 7: %v", len(mistakes), err)
	}
}

func TestNoHostname(t *testing.T) {
	sys := system("", least...)
	sys.Hostname = func() (string, error) { return "", errors.New("none") }
	if _, err := Load(nil, sys); err == nil || !strings.Contains(err.Error(), "--replica (LOCKSTEP_REPLICA) is not set") {
		t.Errorf("got %v", err)
	}
}

func TestUnknownFlag(t *testing.T) {
	if _, err := Load([]string{"--workres=3"}, system("", least...)); err == nil || !strings.Contains(err.Error(), "--workres") {
		t.Errorf("got %v", err)
	}
}
