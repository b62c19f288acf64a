package cli

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/pkg/engine"
)

// completionTimeout bounds what a press of Tab waits for.
const completionTimeout = 2 * time.Second

const noFiles = cobra.ShellCompDirectiveNoFileComp

// completeDocuments completes KIND and ID, the latter by asking the server.
func completeDocuments(env *Env) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		switch len(args) {
		case 0:
			return kindNames(), noFiles
		case 1:
			k, err := kindOf(args[0])
			if err != nil {
				return nil, noFiles
			}
			return idsOn(env, cmd, k, prefix), noFiles
		}
		return nil, noFiles
	}
}

// completeIDs completes the ids of one kind.
func completeIDs(env *Env, k *kind) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, noFiles
		}
		return idsOn(env, cmd, k, prefix), noFiles
	}
}

// idsOn asks the server for ids. Children are found beneath the gateway that
// has been typed; before that, gateways are offered.
func idsOn(env *Env, cmd *cobra.Command, k *kind, prefix string) []string {
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
	defer cancel()
	r, err := connect(quiet(env), cmd)
	if err != nil {
		return nil
	}
	gateway, _, typed := strings.Cut(prefix, "-")
	path := gatewaysPath
	if k.list != "" && typed {
		path += "/" + gateway + k.list
	}
	raw, err := r.call(ctx, http.MethodGet, path, url.Values{"limit": {"500"}}, nil)
	var page struct {
		Items []*document `json:"items"`
	}
	if err != nil || json.Unmarshal(raw, &page) != nil {
		return nil
	}
	ids := make([]string, len(page.Items))
	for i, d := range page.Items {
		if ids[i] = d.ID; k.list != "" && !typed {
			ids[i] += "-"
		}
		if name := d.text("name"); name != "" && k.list == "" {
			ids[i] = cobra.CompletionWithDesc(ids[i], name)
		}
	}
	return ids
}

// quiet is the same world, in which nothing is said.
func quiet(env *Env) *Env {
	silent := *env
	silent.Err = discard{}
	return &silent
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

// completeFlags completes the values of the flags that a command has.
func completeFlags(env *Env, cmd *cobra.Command) {
	fixed := map[string][]string{
		"environment": resource.Environments,
		"phase":       {"Creating", "Created", "Starting", "Started", "Stopping", "Stopped", "Deleting", "Deleted"},
		"state":       {"Running", "Stopped", "Restarting", "Active", "Inactive", "Deleted"},
	}
	for name, values := range fixed {
		if cmd.Flags().Lookup(name) != nil {
			_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, noFiles))
		}
	}
	if cmd.Flags().Lookup("gateway") != nil {
		_ = cmd.RegisterFlagCompletionFunc("gateway", func(cmd *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
			return idsOn(env, cmd, kinds[0], prefix), noFiles
		})
	}
	if cmd.Flags().Lookup("region") != nil {
		_ = cmd.RegisterFlagCompletionFunc("region", func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
			r, err := connect(quiet(env), cmd)
			if err != nil {
				return nil, noFiles
			}
			regions, err := r.regions(cmd.Context())
			if err != nil {
				return nil, noFiles
			}
			names := make([]string, len(regions))
			for i, region := range regions {
				names[i] = region.Name
			}
			return names, noFiles
		})
	}
}

// region is what the server says of one of its regions.
type region struct {
	Name string `json:"name"`
	TLS  bool   `json:"tls"`
}

func (r *remote) regions(ctx context.Context) ([]region, error) {
	var answer struct {
		Items []region `json:"items"`
	}
	err := r.read(ctx, "/v1/regions", &answer)
	return answer.Items, err
}

// checkState says which states there are.
func checkState(k *kind, state string, except ...engine.State) error {
	allowed := slices.DeleteFunc(slices.Clone(k.states()), func(s engine.State) bool { return slices.Contains(except, s) })
	if slices.Contains(allowed, engine.State(state)) {
		return nil
	}
	names := make([]string, len(allowed))
	for i, s := range allowed {
		names[i] = string(s)
	}
	return usage("--state: %q cannot be asked of %s: use one of %s", state, k.one(), strings.Join(names, ", "))
}
