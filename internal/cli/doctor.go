package cli

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lockstep-io/lockstep/internal/cli/doctor"
	"github.com/lockstep-io/lockstep/internal/config"
)

func doctorCommand(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check the server, and all that it needs, and say what to fix",
		Long: `Two sorts of things are checked, as far as they are named: the server of the
API (--server or a context), and the servers that the service needs, by the
options of ` + "`lockstep serve`" + ` (flags or variables). For the latter run it where the
service runs: kubectl exec deploy/lockstep -- lockstep doctor.

Nothing is changed. It exits with 8 if something is to be fixed.`,
		Args: exactly(0),
	}
	remoteFlags(env, cmd)
	format := outputFlag(cmd, asTable, asJSON, asYAML)
	options := config.AddFlags(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		checks, err := env.examine(cmd, options)
		if err != nil {
			return err
		}
		if *format != asTable {
			if err := env.encodeValue(map[string]any{"checks": checks}, *format); err != nil {
				return err
			}
		} else {
			env.printf("%s", env.diagnosis(checks))
		}
		bad := 0
		for _, c := range checks {
			if c.Grade == doctor.Bad {
				bad++
			}
		}
		if bad > 0 {
			return fail(Stuck, "%s to fix", plural(bad, "thing"))
		}
		return nil
	}
	return cmd
}

// examine makes the checks for which there is something to check.
func (e *Env) examine(cmd *cobra.Command, options config.Flags) ([]doctor.Check, error) {
	var checks []doctor.Check
	r, err := connect(e, cmd)
	if err != nil && !errors.Is(err, errNoServer) {
		return nil, err
	}
	if err == nil {
		checks = r.examine(cmd.Context(), e.Version)
	}
	if e.servesHere(cmd) {
		cfg, err := options.Load(config.OS())
		var mistakes config.Mistakes
		switch {
		case errors.As(err, &mistakes):
			for _, m := range mistakes {
				checks = append(checks, doctor.Check{Where: "configuration", What: m.Where, Grade: doctor.Bad, Found: m.Problem, Fix: m.Fix})
			}
		case err != nil:
			return nil, err
		default:
			checks = append(checks, doctor.Service(cmd.Context(), cfg)...)
		}
	}
	if len(checks) == 0 {
		return nil, usage("nothing is named that could be checked: name a server of the API (--server), " +
			"or the options of `lockstep serve` (such as --mongodb-uri), or run it where the service runs")
	}
	return checks, nil
}

// servesHere reports whether the service is configured where doctor runs.
func (e *Env) servesHere(cmd *cobra.Command) bool {
	serves := e.Getenv(config.Prefix+"MONGODB_URI") != ""
	cmd.Flags().Visit(func(f *pflag.Flag) {
		serves = serves || strings.Contains(f.Usage, "["+config.Prefix)
	})
	return serves
}

// examine checks the API as its users see it.
func (r *remote) examine(ctx context.Context, version string) []doctor.Check {
	check := func(what string, grade doctor.Grade, found, fix string) doctor.Check {
		return doctor.Check{Where: r.base, What: what, Grade: grade, Found: found, Fix: fix}
	}
	before := time.Now()
	_, header, err := r.ask(ctx, http.MethodGet, "/healthz", nil, nil)
	if err != nil {
		return []doctor.Check{check("answers", doctor.Bad, err.Error(), "start the server, or put its address right")}
	}
	checks := []doctor.Check{check("answers", doctor.Good, "within "+time.Since(before).Round(time.Millisecond).String(), "")}
	if at, err := http.ParseTime(header.Get("Date")); err == nil {
		checks = append(checks, doctor.ClockCheck(r.base, at, before, time.Second+time.Since(before)))
	}
	if _, err := r.call(ctx, http.MethodGet, "/readyz", nil, nil); err != nil {
		checks = append(checks, check("ready", doctor.Bad, err.Error(), "run doctor where the service runs: it says which of its servers is the matter"))
	} else {
		checks = append(checks, check("ready", doctor.Good, "yes", ""))
	}
	if _, err := r.regions(ctx); err != nil {
		checks = append(checks, check("token", doctor.Bad, err.Error(), "put a valid token into LOCKSTEP_TOKEN or the context"))
	} else {
		checks = append(checks, check("token", doctor.Good, "accepted", ""))
	}
	return append(checks, r.sameVersion(ctx, version, check)...)
}

func (r *remote) sameVersion(ctx context.Context, version string, check func(string, doctor.Grade, string, string) doctor.Check) []doctor.Check {
	var description struct {
		Info struct {
			Version string `json:"version"`
		} `json:"info"`
	}
	if r.read(ctx, "/openapi.json", &description) != nil {
		return nil
	}
	if theirs := description.Info.Version; theirs != version {
		return []doctor.Check{check("version", doctor.Warning, "the server is "+theirs+", this program "+version, "use the same of both")}
	}
	return []doctor.Check{check("version", doctor.Good, version, "")}
}

// diagnosis is the checks as a table, the fixes beneath what is to be fixed.
func (e *Env) diagnosis(checks []doctor.Check) string {
	moods := map[doctor.Grade]mood{doctor.Good: good, doctor.Warning: busy, doctor.Bad: bad}
	t := newTable(e, "", "where", "what", "found")
	for _, c := range checks {
		t.row(e.paint(moods[c.Grade], string(c.Grade)), c.Where, c.What, c.Found)
		if c.Fix != "" {
			t.row("", "", "", "fix: "+c.Fix)
		}
	}
	return t.String()
}
