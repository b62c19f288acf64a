package cli

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/spf13/cobra"

	"github.com/lockstep-io/lockstep/internal/resource"
)

// removable are the kinds that users delete; the others go with their gateway.
var removable = []resource.Kind{
	resource.KindApiGateway, resource.KindClientApp, resource.KindCloudFunction, resource.KindCronTrigger,
}

func deleteCommand(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "delete KIND ID",
		Short: "Delete a gateway and everything beneath it, or one function, client app or trigger",
		Long: `Deleting cannot be undone. The document goes last: until then it can be watched
and explained. Asking again changes nothing.`,
		Example: `  lockstep delete gateway vn8ofl --wait
  lockstep delete trigger vn8ofl-nightly
  lockstep delete gateway vn8ofl --skip-step database --reason "the region's MongoDB is gone for good"`,
		Args:              exactly(2),
		ValidArgsFunction: completeDocuments(env),
	}
	remoteFlags(env, cmd)
	format := outputFlag(cmd, formats...)
	w := waitFlags(cmd)
	isOrphan := cmd.Flags().Bool("orphan", false, "delete a document of any kind whose gateway is gone; for administrators")
	skip := cmd.Flags().String("skip-step", "", "go on with a deletion without this step, which cannot be done any more; for administrators")
	reason := reasonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := w.check(); err != nil {
			return err
		}
		k, err := kindOf(args[0])
		if err != nil {
			return err
		}
		if *isOrphan {
			if _, err := k.item(args[1]); err != nil {
				return err
			}
			if err := required(cmd, "reason"); err != nil {
				return fmt.Errorf("--orphan: %w", err)
			}
			path, ch := orphan(k, args[1], *reason)
			return w.make(env, cmd, k, path, ch, *format)
		}
		if *skip != "" {
			return forceDelete(env, cmd, w, k, args[1], *skip, *reason, *format)
		}
		if *reason != "" {
			return usage("--reason is for --orphan and --skip-step: leave it out")
		}
		if !slices.Contains(removable, k.Kind) {
			return usage("%s is made and removed with its gateway: delete the gateway, or set its state", k.one())
		}
		path, err := k.item(args[1])
		if err != nil {
			return err
		}
		return w.make(env, cmd, k, path, &change{method: http.MethodDelete}, *format)
	}
	return cmd
}

// forceDelete has a step of a deletion skipped.
func forceDelete(env *Env, cmd *cobra.Command, w *wait, k *kind, id, step, reason, format string) error {
	if _, err := k.item(id); err != nil {
		return err
	}
	if err := required(cmd, "reason"); err != nil {
		return fmt.Errorf("--skip-step: %w", err)
	}
	return w.make(env, cmd, k, documentPath(k, id)+"/force-delete", &change{
		method: http.MethodPost, body: map[string]any{"step": step, "reason": reason}, said: "goes without that step",
	}, format)
}
