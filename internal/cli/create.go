package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/lockstep-io/lockstep/internal/resource"
)

func createCommand(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "create KIND NAME",
		Short: "Make a gateway, or a function, client app or trigger of one",
		Long:  "Make a gateway, or a function, client app or trigger of one.\nEnvironments, stages, domain and database come with their gateway.",
	}
	cmd.AddCommand(createGateway(env), createApp(env), createFunction(env), createTrigger(env))
	return cmd
}

// maker is a create command: body reads what is to be made from the flags, and
// says where to post it.
type maker struct {
	kind    resource.Kind
	arg     string // what the argument is; NAME if empty
	short   string
	example string
	body    func(name string) (path string, body map[string]any, err error)
}

// command puts together what the create commands share.
func (m *maker) command(env *Env, cmd *cobra.Command) *cobra.Command {
	k, _ := kindOf(string(m.kind))
	cmd.Use, cmd.Aliases = k.name+" "+cmp.Or(m.arg, "NAME"), k.aliases
	cmd.Short, cmd.Example = m.short, m.example
	cmd.Args, cmd.ValidArgsFunction = exactly(1), cobra.NoFileCompletions
	remoteFlags(env, cmd)
	format := outputFlag(cmd, formats...)
	w := waitFlags(cmd)
	completeFlags(env, cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := w.check(); err != nil {
			return err
		}
		path, body, err := m.body(args[0])
		if err != nil {
			return err
		}
		r, err := connect(env, cmd)
		if err != nil {
			return err
		}
		d := &document{}
		raw, err := r.call(cmd.Context(), http.MethodPost, path, nil, body)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(raw, d); err != nil {
			return fmt.Errorf("read the server's answer: %w", err)
		}
		return w.finish(cmd.Context(), env, r, k, d, *format, "is being made")
	}
	return cmd
}

func createGateway(env *Env) *cobra.Command {
	cmd := &cobra.Command{}
	settings := gatewayFlags(cmd)
	m := &maker{
		kind:    resource.KindApiGateway,
		short:   "Make a gateway",
		example: "  lockstep create gateway shop --region eu --wait\n  lockstep create gateway blog --region us --replicas 2 --env LOG=debug",
		body: func(name string) (string, map[string]any, error) {
			body, err := settings(name)
			return gatewaysPath, body, err
		},
	}
	return m.command(env, cmd)
}

// gatewayFlags adds what can be said of a gateway that is to be made.
func gatewayFlags(cmd *cobra.Command) func(name string) (map[string]any, error) {
	f := cmd.Flags()
	region := f.String("region", "", "the region in which it is to live")
	state := f.String("state", "", "Running (the default) or Stopped")
	tenant := f.String("tenant", "", "who owns it; for operators")
	runtime := runtimeFlags(cmd)
	return func(name string) (map[string]any, error) {
		body := map[string]any{"name": name, "region": *region}
		if err := required(cmd, "region"); err != nil {
			return nil, err
		}
		if *state != "" {
			if err := checkState(kinds[0], *state, resource.Deleted, resource.Restarting); err != nil {
				return nil, err
			}
			body["state"] = *state
		}
		if *tenant != "" {
			body["tenant"] = *tenant
		}
		settings, err := runtime()
		if len(settings) > 0 {
			body["runtime"] = settings
		}
		return body, err
	}
}

// beneath is where the children of the gateway in --gateway are made.
func beneath(cmd *cobra.Command, list string, needs ...string) (string, error) {
	if err := required(cmd, append([]string{"gateway"}, needs...)...); err != nil {
		return "", err
	}
	id, _ := cmd.Flags().GetString("gateway")
	path, err := kinds[0].item(id)
	if err != nil {
		return "", fmt.Errorf("--gateway: %w", err)
	}
	return path + list, nil
}

func gatewayFlag(cmd *cobra.Command) {
	cmd.Flags().StringP("gateway", "g", "", "the id of the gateway that it belongs to")
}

// activity adds --state, of those that a child can be made in.
func activity(cmd *cobra.Command, k resource.Kind) func(body map[string]any) error {
	state := cmd.Flags().String("state", "", "Active (the default) or Inactive")
	return func(body map[string]any) error {
		if *state == "" {
			return nil
		}
		body["state"] = *state
		kind, _ := kindOf(string(k))
		return checkState(kind, *state, resource.Deleted)
	}
}

func createApp(env *Env) *cobra.Command {
	cmd := &cobra.Command{}
	gatewayFlag(cmd)
	environment := cmd.Flags().String("environment", "", "dev, staging or prod: where the app calls the gateway")
	state := activity(cmd, resource.KindClientApp)
	m := &maker{
		kind: resource.KindClientApp, short: "Make a client app: a consumer of a gateway's API, with a key of its own",
		example: "  lockstep create app web --gateway vn8ofl --environment dev",
		body: func(name string) (string, map[string]any, error) {
			body := map[string]any{"name": name, "environment": *environment}
			path, err := beneath(cmd, "/client-apps", "environment")
			if err == nil {
				err = state(body)
			}
			return path, body, err
		},
	}
	return m.command(env, cmd)
}

func createFunction(env *Env) *cobra.Command {
	cmd := &cobra.Command{}
	gatewayFlag(cmd)
	file := cmd.Flags().String("code", "", "the file with its code; - for standard input")
	runtime := cmd.Flags().String("runtime", "", "language of the code (default javascript)")
	m := &maker{
		kind: resource.KindCloudFunction, short: "Make a function, which stages can publish",
		example: "  lockstep create function hello --gateway vn8ofl --code hello.js",
		body: func(name string) (string, map[string]any, error) {
			path, err := beneath(cmd, "/functions", "code")
			if err != nil {
				return "", nil, err
			}
			text, err := code(env, *file)
			body := map[string]any{"name": name, "code": text}
			if *runtime != "" {
				body["runtime"] = *runtime
			}
			return path, body, err
		},
	}
	return m.command(env, cmd)
}

func createTrigger(env *Env) *cobra.Command {
	cmd := &cobra.Command{}
	gatewayFlag(cmd)
	schedule := cmd.Flags().String("schedule", "", "when to call: a cron expression of five fields, or @hourly, @daily …")
	zone := cmd.Flags().String("time-zone", "", "IANA name of the schedule's zone (default UTC)")
	function := cmd.Flags().String("function", "", "the name of the function to call")
	state := activity(cmd, resource.KindCronTrigger)
	m := &maker{
		kind: resource.KindCronTrigger, short: "Make a trigger, which calls a function on a schedule",
		example: `  lockstep create trigger nightly --gateway vn8ofl --schedule "0 3 * * *" --function hello`,
		body: func(name string) (string, map[string]any, error) {
			body := map[string]any{"name": name, "schedule": *schedule, "function": *function}
			if *zone != "" {
				body["timeZone"] = *zone
			}
			path, err := beneath(cmd, "/triggers", "schedule", "function")
			if err == nil {
				err = state(body)
			}
			return path, body, err
		},
	}
	return m.command(env, cmd)
}
