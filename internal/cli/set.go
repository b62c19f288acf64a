package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/lockstep-io/lockstep/internal/resource"
)

func setCommand(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "set KIND ID",
		Short: "Change what is wanted of a document: its state, or its settings",
	}
	cmd.AddCommand(setGateway(env), setDomain(env), setApp(env), setFunction(env), setStage(env), setTrigger(env))
	return cmd
}

// change is a request that changes a document.
type change struct {
	method string
	suffix string
	query  url.Values
	body   map[string]any
	// said tells what becomes of the document; its state if empty.
	said string
}

// setter is a set command.
type setter struct {
	kind    resource.Kind
	short   string
	example string
	change  func() (*change, error)
}

func (s *setter) command(env *Env, cmd *cobra.Command) *cobra.Command {
	k, _ := kindOf(string(s.kind))
	cmd.Use, cmd.Aliases = k.name+" ID", k.aliases
	cmd.Short, cmd.Example = s.short, s.example
	cmd.Args, cmd.ValidArgsFunction = exactly(1), completeIDs(env, k)
	remoteFlags(env, cmd)
	format := outputFlag(cmd, formats...)
	w := waitFlags(cmd)
	completeFlags(env, cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := w.check(); err != nil {
			return err
		}
		path, err := k.item(args[0])
		if err != nil {
			return err
		}
		ch, err := s.change()
		if err != nil {
			return err
		}
		if ch.method == http.MethodPatch && len(ch.body) == 0 {
			return usage("nothing is to change: name at least one setting; see `%s --help`", cmd.CommandPath())
		}
		return w.make(env, cmd, k, path, ch, *format)
	}
	return cmd
}

// make makes a change and waits for it, if that is wanted.
func (w *wait) make(env *Env, cmd *cobra.Command, k *kind, path string, ch *change, format string) error {
	r, err := connect(env, cmd)
	if err != nil {
		return err
	}
	var body any
	if ch.body != nil {
		body = ch.body
	}
	raw, err := r.call(cmd.Context(), ch.method, path+ch.suffix, ch.query, body)
	if err != nil {
		return err
	}
	d := &document{}
	if err := json.Unmarshal(raw, d); err != nil {
		return fmt.Errorf("read the server's answer: %w", err)
	}
	return w.finish(cmd.Context(), env, r, k, d, format, cmp.Or(ch.said, "is to be "+string(d.State)))
}

// stateFlag adds --state.
func stateFlag(cmd *cobra.Command, k resource.Kind, help string, except ...string) func(body map[string]any) error {
	state := cmd.Flags().String("state", "", help)
	return func(body map[string]any) error {
		if *state == "" {
			return nil
		}
		body["state"] = *state
		kind, _ := kindOf(string(k))
		if len(except) > 0 {
			return checkState(kind, *state, resource.Deleted)
		}
		return checkState(kind, *state)
	}
}

func setGateway(env *Env) *cobra.Command {
	cmd := &cobra.Command{}
	state := stateFlag(cmd, resource.KindApiGateway, "Running, Stopped, Restarting or Deleted")
	name := cmd.Flags().String("name", "", "another name")
	runtime := runtimeFlags(cmd)
	s := &setter{
		kind: resource.KindApiGateway, short: "Stop, start, restart, rename or reconfigure a gateway",
		example: "  lockstep set gateway vn8ofl --state Stopped --wait\n  lockstep set gateway vn8ofl --replicas 3 --image registry.example.com/runtime:2",
		change: func() (*change, error) {
			body := map[string]any{}
			if *name != "" {
				body["name"] = *name
			}
			settings, err := runtime()
			if err != nil {
				return nil, err
			}
			if len(settings) > 0 {
				body["runtime"] = settings
			}
			return &change{method: http.MethodPatch, body: body}, state(body)
		},
	}
	return s.command(env, cmd)
}

func setDomain(env *Env) *cobra.Command {
	cmd := &cobra.Command{}
	domain := cmd.Flags().String("custom-domain", "", "domain to bind, such as api.example.com")
	unbind := cmd.Flags().Bool("unbind", false, "unbind the custom domain")
	s := &setter{
		kind: resource.KindRuntimeDomain, short: "Bind or unbind a gateway's custom domain",
		example: "  lockstep set domain vn8ofl --custom-domain api.example.com --wait",
		change: func() (*change, error) {
			switch {
			case *unbind && *domain != "":
				return nil, usage("--custom-domain and --unbind contradict each other: leave one of them out")
			case *unbind:
				return &change{method: http.MethodDelete, suffix: "/custom-domain"}, nil
			case *domain == "":
				return nil, usage("--custom-domain is missing: name the domain to bind, or use --unbind")
			}
			return &change{method: http.MethodPut, suffix: "/custom-domain", body: map[string]any{"domain": *domain}}, nil
		},
	}
	return s.command(env, cmd)
}

func setApp(env *Env) *cobra.Command {
	cmd := &cobra.Command{}
	state := stateFlag(cmd, resource.KindClientApp, "Active, Inactive (its key is refused) or Deleted")
	s := &setter{
		kind: resource.KindClientApp, short: "Let a client app in, or keep it out",
		example: "  lockstep set app vn8ofl-dev-web --state Inactive",
		change: func() (*change, error) {
			body := map[string]any{}
			return &change{method: http.MethodPatch, body: body}, state(body)
		},
	}
	return s.command(env, cmd)
}

func setFunction(env *Env) *cobra.Command {
	cmd := &cobra.Command{}
	file := cmd.Flags().String("code", "", "file with its new code; - for standard input")
	runtime := cmd.Flags().String("runtime", "", "language of the code")
	s := &setter{
		kind: resource.KindCloudFunction, short: "Change a function; stages serve it once they are published again",
		example: "  lockstep set function vn8ofl-hello --code hello.js",
		change: func() (*change, error) {
			body := map[string]any{}
			if *runtime != "" {
				body["runtime"] = *runtime
			}
			if *file != "" {
				text, err := code(env, *file)
				if err != nil {
					return nil, err
				}
				body["code"] = text
			}
			return &change{method: http.MethodPatch, body: body}, nil
		},
	}
	return s.command(env, cmd)
}

func setStage(env *Env) *cobra.Command {
	cmd := &cobra.Command{}
	state := stateFlag(cmd, resource.KindStage, "Active, or Inactive to take its routes away", "Deleted")
	given := cmd.Flags().StringArray("route", nil, "route to publish, [METHOD[,METHOD] ]PATH=FUNCTION; may be given several times, and replaces all")
	none := cmd.Flags().Bool("no-routes", false, "publish nothing")
	s := &setter{
		kind: resource.KindStage, short: "Publish routes and their functions to an environment",
		example: `  lockstep set stage vn8ofl-dev --route "GET /hello=hello" --route "/cats/*=cats" --wait`,
		change: func() (*change, error) {
			body := map[string]any{}
			if *none && len(*given) > 0 {
				return nil, usage("--route and --no-routes contradict each other: leave one of them out")
			}
			if *none || len(*given) > 0 {
				all, err := routes(*given)
				if err != nil {
					return nil, err
				}
				body["routes"] = all
			}
			return &change{method: http.MethodPatch, body: body}, state(body)
		},
	}
	return s.command(env, cmd)
}

func setTrigger(env *Env) *cobra.Command {
	cmd := &cobra.Command{}
	state := stateFlag(cmd, resource.KindCronTrigger, "Active, or Inactive to suspend it", "Deleted")
	fields := map[string]*string{
		"schedule": cmd.Flags().String("schedule", "", "cron expression of five fields, or @hourly, @daily …"),
		"timeZone": cmd.Flags().String("time-zone", "", "IANA name of the schedule's zone; empty for UTC"),
		"function": cmd.Flags().String("function", "", "name of the function to call"),
	}
	flags := map[string]string{"schedule": "schedule", "timeZone": "time-zone", "function": "function"}
	s := &setter{
		kind: resource.KindCronTrigger, short: "Change a trigger, suspend it, or let it go on",
		example: "  lockstep set trigger vn8ofl-nightly --state Inactive",
		change: func() (*change, error) {
			body := map[string]any{}
			for field, value := range fields {
				if cmd.Flags().Changed(flags[field]) {
					body[field] = *value
				}
			}
			return &change{method: http.MethodPatch, body: body}, state(body)
		},
	}
	return s.command(env, cmd)
}
