package cli

import (
	"net/http"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/lockstep-io/lockstep/internal/resource"
)

// verbCommands are those by which administrators step in where the task
// services are stuck. Each asks for a reason, which is noted on the document.
func verbCommands(env *Env) []*cobra.Command {
	return []*cobra.Command{
		verbCommand(env, "retry", "Have a document tried again at once: its errors and its backoff are cleared", "is tried again"),
		verbCommand(env, "unlock", "Take a document from the replica that holds it, for those who cannot wait for the lock to end", "is unlocked"),
		kindVerb(env, verbCommand(env, "pause", "Keep a document, or all of a kind, from being worked on until it is resumed", "is paused"), "are paused"),
		kindVerb(env, verbCommand(env, "resume", "Let a paused document, or a paused kind, go on", "goes on"), "go on"),
	}
}

func verbCommand(env *Env, verb, short, said string) *cobra.Command {
	cmd := &cobra.Command{
		Use:               verb + " KIND ID --reason WHY",
		Short:             short,
		Long:              short + ".\nFor administrators. The reason is noted on the document.",
		Example:           "  lockstep " + verb + ` gateway vn8ofl --reason "the quota was raised"`,
		Args:              exactly(2),
		ValidArgsFunction: completeDocuments(env),
	}
	remoteFlags(env, cmd)
	format := outputFlag(cmd, formats...)
	reason := reasonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		k, err := kindOf(args[0])
		if err != nil {
			return err
		}
		if _, err := k.item(args[1]); err != nil {
			return err
		}
		if err := required(cmd, "reason"); err != nil {
			return err
		}
		w := &wait{}
		return w.make(env, cmd, k, documentPath(k, args[1])+"/"+verb, &change{
			method: http.MethodPost, body: map[string]any{"reason": *reason}, said: said,
		}, *format)
	}
	return cmd
}

// kindVerb lets a verb be used on all documents of a kind, too.
func kindVerb(env *Env, cmd *cobra.Command, said string) *cobra.Command {
	verb, one := cmd.Name(), cmd.RunE
	cmd.Use = verb + " KIND [ID] --reason WHY"
	cmd.Long = cmd.Short + ".\nFor administrators. The reason is noted on the document; that of a pause of a kind is kept with the pause."
	cmd.Example += "\n  lockstep " + verb + ` stages --reason "APISIX is being moved"      # all of them, on all replicas; for operators`
	cmd.Args = between(1, 2)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 2 {
			return one(cmd, args)
		}
		k, err := kindOf(args[0])
		if err != nil {
			return err
		}
		if err := required(cmd, "reason"); err != nil {
			return err
		}
		r, err := connect(env, cmd)
		if err != nil {
			return err
		}
		reason, _ := cmd.Flags().GetString("reason")
		raw, err := r.call(cmd.Context(), http.MethodPost, "/v1/kinds/"+string(k.Kind)+"/"+verb, nil, map[string]any{"reason": reason})
		if err != nil {
			return err
		}
		if format, _ := cmd.Flags().GetString("output"); format == asJSON || format == asYAML {
			return env.encode(raw, format)
		}
		env.printf("All %ss %s.\n", k.name, said)
		return nil
	}
	return cmd
}

func reasonFlag(cmd *cobra.Command) *string {
	return cmd.Flags().String("reason", "", "why; it is noted on the document")
}

func rotateCommand(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "rotate app ID", Short: "Give a client app a new key; the one before is refused once the new one is in place",
		Example: "  lockstep rotate app vn8ofl-dev-web --wait",
	}
	app := &cobra.Command{}
	s := &setter{
		kind: resource.KindClientApp, short: cmd.Short, example: cmd.Example,
		change: func() (*change, error) {
			return &change{method: http.MethodPost, suffix: "/rotate", said: "gets a new key"}, nil
		},
	}
	cmd.AddCommand(s.command(env, app))
	return cmd
}

func rollbackCommand(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "rollback function ID", Short: "Go back to an earlier version of a function",
		Example: "  lockstep rollback function vn8ofl-hello --to 3",
	}
	function := &cobra.Command{}
	to := function.Flags().Int64("to", 0, "version to go back to")
	s := &setter{
		kind: resource.KindCloudFunction, short: cmd.Short, example: cmd.Example,
		change: func() (*change, error) {
			if *to < 1 {
				return nil, usage("--to: %d: name the version to go back to, such as 1", *to)
			}
			return &change{method: http.MethodPost, suffix: "/rollback", body: map[string]any{"version": *to}, said: "goes back"}, nil
		},
	}
	cmd.AddCommand(s.command(env, function))
	return cmd
}

// orphan is how a document whose gateway is gone is deleted.
func orphan(k *kind, id, reason string) (path string, ch *change) {
	return documentPath(k, id), &change{method: http.MethodDelete, query: url.Values{"reason": {reason}}}
}
