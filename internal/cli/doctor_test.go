package cli_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-io/lockstep/internal/api"
	"github.com/lockstep-io/lockstep/internal/cli"
	"github.com/lockstep-io/lockstep/internal/cli/doctor"
	"github.com/lockstep-io/lockstep/internal/testenv"
)

// service are the flags of a service on real servers.
func (w *world) service() []string {
	return []string{
		"--mongodb-uri", testenv.MongoURI(w.t), "--database", w.db.Name(), "--kubeconfig", testenv.Kubeconfig(w.t), "--region-name", "eu",
		"--domain-suffix", "eu.example.com", "--cluster-issuer", "no-such-issuer", "--runtime-image", "runtime:1", "--auth-open",
	}
}

// doctor runs doctor and returns its checks by where and what.
func (w *world) doctor(args ...string) (map[string]doctor.Check, cli.Code) {
	w.t.Helper()
	out, errs, code := w.lockstep(append([]string{"doctor", "-o", "json"}, args...)...)
	var report struct{ Checks []doctor.Check }
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		w.t.Fatalf("%v: %s%s", err, out, errs)
	}
	checks := map[string]doctor.Check{}
	for _, c := range report.Checks {
		checks[c.Where+": "+c.What] = c
		if c.Grade == doctor.Bad && c.Fix == "" && c.Where != w.url {
			w.t.Errorf("%s %s does not say what to fix: %s", c.Where, c.What, c.Found)
		}
	}
	return checks, code
}

// Doctor finds the servers well, and of what is not says what to fix.
func TestDoctor(t *testing.T) {
	w := start(t)
	checks, code := w.doctor(w.service()...)
	for what, grade := range map[string]doctor.Grade{
		w.url + ": answers": doctor.Good, w.url + ": clock": doctor.Good, w.url + ": ready": doctor.Good,
		w.url + ": token": doctor.Good, w.url + ": version": doctor.Good,
		"MongoDB of the documents: version": doctor.Good, "MongoDB of the documents: clock": doctor.Good,
		"MongoDB of the documents: indexes": doctor.Bad, // made for no rules
		"MongoDB of region eu: version":     doctor.Good,
		"cluster of region eu: version":     doctor.Good, "cluster of region eu: types": doctor.Good,
		"cluster of region eu: permissions": doctor.Good, "cluster of region eu: issuer": doctor.Bad,
	} {
		if checks[what].Grade != grade {
			t.Errorf("%s: %+v, want %s", what, checks[what], grade)
		}
	}
	if code != cli.Stuck {
		t.Errorf("exit code %d, want %d", code, cli.Stuck)
	}
	if err := w.docs.EnsureIndexes(t.Context(), w.run.Rules()); err != nil {
		t.Fatal(err)
	}
	if checks, _ := w.doctor(w.service()...); checks["MongoDB of the documents: indexes"].Grade != doctor.Good {
		t.Errorf("indexes: %+v", checks["MongoDB of the documents: indexes"])
	}
	if out, _, _ := w.lockstep(append([]string{"doctor"}, w.service()...)...); !strings.Contains(out, "fix: make it, or name another (--cluster-issuer)") {
		t.Errorf("the table does not say what to fix: %s", out)
	}
}

func TestDoctorFindsFaults(t *testing.T) {
	w := start(t, func(cfg *api.Config) { cfg.Ready = func(context.Context) error { return errors.New("no database") } })
	checks, code := w.doctor(append(w.service(), "--mongodb-uri", "mongodb://127.0.0.1:1/", "--runtime-mongodb-uri", "mongodb://127.0.0.1:1/",
		"--tls", "--wildcard-secret", "no-such/secret")...)
	for _, what := range []string{
		w.url + ": ready", "MongoDB of the documents: answers", "MongoDB of region eu: answers", "cluster of region eu: wildcard certificate",
	} {
		if checks[what].Grade != doctor.Bad {
			t.Errorf("%s: %+v", what, checks[what])
		}
	}
	if code != cli.Stuck {
		t.Errorf("exit code %d", code)
	}
	if checks, _ := w.doctor("--mongodb-uri", "nonsense", "--lock-timeout", "never"); len(checks) < 4 {
		t.Errorf("mistakes of the configuration: %+v", checks)
	}
	delete(w.vars, "LOCKSTEP_SERVER")
	if _, errs, code := w.lockstep("doctor"); code != cli.Usage || !strings.Contains(errs, "nothing is named that could be checked") {
		t.Errorf("nothing to check: exit code %d: %s", code, errs)
	}
}

func TestClockCheck(t *testing.T) {
	now := time.Now()
	for apart, grade := range map[time.Duration]doctor.Grade{0: doctor.Good, time.Second: doctor.Good, -3 * time.Second: doctor.Bad, time.Hour: doctor.Bad} {
		if c := doctor.ClockCheck("x", now.Add(apart), now, 0); c.Grade != grade {
			t.Errorf("%s apart: %+v", apart, c)
		}
	}
}
