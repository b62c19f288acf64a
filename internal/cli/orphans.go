package cli

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/lockstep-io/lockstep/internal/config"
	"github.com/lockstep-io/lockstep/internal/documents"
	"github.com/lockstep-io/lockstep/internal/platform"
	"github.com/lockstep-io/lockstep/internal/sweep"
)

// orphanPause is between two passes of a removal.
const orphanPause = 2 * time.Second

func orphansCommand(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "orphans",
		Short: "Find what has lost its owner, and with --remove remove it",
		Long: `Orphans are documents whose gateway is gone, managed Kubernetes objects whose
document is gone, and databases of gateways that are gone. They are looked for
on the servers themselves, by the options of ` + "`lockstep serve`" + `: run it where the
service runs (kubectl exec deploy/lockstep -- lockstep orphans).

What belongs to another installation is reported as kept, and never removed.`,
		Args: exactly(0),
	}
	format := outputFlag(cmd, asTable, asJSON, asYAML)
	remove := cmd.Flags().Bool("remove", false, "remove what is found: routes first, then pods, then data")
	gateway := cmd.Flags().StringP("gateway", "g", "", "only what belonged to this gateway")
	limit := cmd.Flags().Int("limit", sweep.DefaultLimit, "of how many gateways orphans may be removed: more are a lost collection, not a leak")
	within := cmd.Flags().Duration("timeout", 5*time.Minute, "how long to remove at most")
	flags := config.AddFlags(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := flags.Load(config.OS())
		if err != nil {
			return usage("%w", err)
		}
		if *limit < 1 {
			return usage("--limit: %d: use a number above zero", *limit)
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), *within)
		defer cancel()
		only := func(id string) bool { return *gateway == "" || id == *gateway }
		sweeper, done, err := newSweeper(cfg, sweep.Options{Limit: *limit, Only: only})
		if err != nil {
			return err
		}
		defer done()
		report, err := sweeper.Find(ctx)
		if *remove && report != nil && report.Removable() > 0 {
			var failed error
			report, failed = removeAll(ctx, sweeper, report)
			err = errors.Join(err, failed)
		}
		return env.showOrphans(report, err, *format)
	}
	return cmd
}

// newSweeper makes a sweeper of the servers that are configured.
func newSweeper(cfg config.Config, opts sweep.Options) (*sweep.Sweeper, func(), error) {
	client, err := mongo.Connect(options.Client().ApplyURI(cfg.MongoDB.URI.Reveal()).
		SetServerSelectionTimeout(5 * time.Second).SetAppName("lockstep orphans"))
	if err != nil {
		return nil, nil, usage("--mongodb-uri (LOCKSTEP_MONGODB_URI) is not the address of a MongoDB")
	}
	done := func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		_ = client.Disconnect(ctx)
	}
	db := client.Database(cfg.MongoDB.Database)
	docs := documents.Open(db)
	run, err := platform.New(docs, cfg.Regions, platform.Options{LockTimeout: cfg.Engine.LockTimeout})
	if err != nil {
		done()
		return nil, nil, err
	}
	return sweep.New(sweep.Open(db, docs), run.SweepRegions(), opts), done, nil
}

// removeAll finds and removes, pass by pass, until nothing is on its way any
// more. It reports what was removed in any pass, and how the rest is.
func removeAll(ctx context.Context, sweeper *sweep.Sweeper, report *sweep.Report) (*sweep.Report, error) {
	var removed []sweep.Orphan
	for {
		after, err := sweeper.Remove(ctx, report)
		if err != nil {
			return after, err
		}
		going := false
		var left []sweep.Orphan
		for _, o := range after.Orphans {
			switch o.Outcome {
			case sweep.Removed:
				removed = append(removed, o)
				continue
			case sweep.Asked, sweep.Waiting:
				going = true
			case sweep.Found, sweep.Kept, sweep.Failed:
			}
			left = append(left, o)
		}
		after.Orphans = append(slices.Clone(removed), left...)
		if !going {
			return after, nil
		}
		if pause(ctx, orphanPause) != nil {
			return after, fail(TimedOut, "not all orphans are gone yet: run it again")
		}
		found, err := sweeper.Find(ctx)
		if err != nil {
			return after, err
		}
		removed = append(removed, vanished(left, found)...)
		report = found
	}
}

// vanished are those that were on their way and are not found any more.
func vanished(left []sweep.Orphan, found *sweep.Report) []sweep.Orphan {
	var gone []sweep.Orphan
	for _, o := range left {
		same := func(f sweep.Orphan) bool { return f.Name == o.Name && f.Region == o.Region && f.Sort == o.Sort }
		if !slices.ContainsFunc(found.Orphans, same) {
			o.Outcome, o.Note = sweep.Removed, ""
			gone = append(gone, o)
		}
	}
	return gone
}

// showOrphans prints a report; an error beside it says what could not be read.
func (e *Env) showOrphans(report *sweep.Report, err error, format string) error {
	if report == nil {
		return err
	}
	if format != asTable {
		return errors.Join(e.encodeValue(report, format), err)
	}
	if len(report.Orphans) == 0 && err == nil {
		e.notef("There are no orphans.")
		return nil
	}
	moods := map[sweep.Outcome]mood{sweep.Removed: good, sweep.Failed: bad, sweep.Asked: busy, sweep.Waiting: busy, sweep.Kept: faint}
	t := newTable(e, "gateway", "sort", "region", "name", "age", "outcome", "why")
	for i := range report.Orphans {
		o := &report.Orphans[i]
		why := o.Reason
		if o.Note != "" {
			why += "; " + o.Note
		}
		t.row(o.GatewayID, string(o.Sort), o.Region, o.Name, age(o.CreatedAt), e.paint(moods[o.Outcome], string(o.Outcome)), why)
	}
	t.print()
	return err
}
