package cli

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lockstep-io/lockstep/internal/resource"
)

// flagNames are the flags of fields whose names they do not follow.
var flagNames = map[string]string{
	"body.timeZone": "--time-zone", "body.step": "--skip-step", "body.domain": "--custom-domain", "body.name": "NAME or --name",
	"body.runtime": "--runtime", "query.gatewayId": "--gateway", "query.lockedBy": "--locked-by", "query.age": "--older-than",
}

var (
	routeField   = regexp.MustCompile(`^body\.routes\[(\d+)\]`)
	runtimeField = regexp.MustCompile(`^body\.runtime\.(\w+)(?:\.(.+))?$`)
)

// flagOf is the flag, or the argument, that a field of a request is from.
func flagOf(location string) string {
	if name, has := flagNames[location]; has {
		return name
	}
	if m := routeField.FindStringSubmatch(location); m != nil {
		n, _ := strconv.Atoi(m[1])
		return fmt.Sprintf("--route (number %d)", n+1)
	}
	if m := runtimeField.FindStringSubmatch(location); m != nil {
		if m[2] != "" {
			return "--" + m[1] + " " + m[2]
		}
		return "--" + m[1]
	}
	for _, part := range []string{"body.", "query."} {
		if name, ok := strings.CutPrefix(location, part); ok {
			return "--" + name
		}
	}
	return strings.TrimPrefix(location, "path.")
}

// runtimeFlags are a gateway's settings.
func runtimeFlags(cmd *cobra.Command) func() (map[string]any, error) {
	f := cmd.Flags()
	f.String("image", "", "image that the gateway runs; empty for the region's")
	f.Int32("replicas", 0, "number of pods")
	f.String("cpu", "", "CPU requested by each pod, such as 500m; empty for the default")
	f.String("memory", "", "memory requested by each pod, such as 256Mi; empty for the default")
	f.StringArray("env", nil, "environment variable of the pods, NAME=VALUE; may be given several times, and replaces all")
	f.Bool("no-env", false, "take all environment variables away")
	return func() (map[string]any, error) {
		runtime := map[string]any{}
		for _, name := range []string{"image", "cpu", "memory"} {
			if f.Changed(name) {
				runtime[name], _ = f.GetString(name)
			}
		}
		if f.Changed("replicas") {
			n, _ := f.GetInt32("replicas")
			if n < 1 || n > resource.MaxReplicas {
				return nil, usage("--replicas: %d: use a number from 1 to %d", n, resource.MaxReplicas)
			}
			runtime["replicas"] = n
		}
		return runtime, envFlags(cmd, runtime)
	}
}

func envFlags(cmd *cobra.Command, runtime map[string]any) error {
	given, _ := cmd.Flags().GetStringArray("env")
	none, _ := cmd.Flags().GetBool("no-env")
	switch {
	case none && len(given) > 0:
		return usage("--env and --no-env contradict each other: leave one of them out")
	case none:
		runtime["env"] = map[string]string{}
	case len(given) > 0:
		env := map[string]string{}
		for _, pair := range given {
			name, value, ok := strings.Cut(pair, "=")
			if !ok || name == "" {
				return usage("--env: %q: use NAME=VALUE", pair)
			}
			env[name] = value
		}
		runtime["env"] = env
	}
	return nil
}

// code reads a function's code from a file, or from standard input.
func code(env *Env, path string) (string, error) {
	var raw []byte
	var err error
	if path == "-" {
		raw, err = io.ReadAll(io.LimitReader(env.In, resource.MaxCode+1))
	} else {
		raw, err = os.ReadFile(path)
	}
	switch {
	case err != nil:
		return "", usage("--code: %w", err)
	case len(raw) == 0:
		return "", usage("--code: %s is empty", path)
	case len(raw) > resource.MaxCode:
		return "", usage("--code: %s is larger than %d bytes", path, resource.MaxCode)
	}
	return string(raw), nil
}

// routes reads those of a stage: [METHOD[,METHOD…] ]PATH=FUNCTION.
func routes(given []string) ([]map[string]any, error) {
	all := []map[string]any{}
	for _, text := range given {
		i := strings.LastIndex(text, "=")
		if i < 0 {
			return nil, usage("--route: %q: use [METHOD[,METHOD] ]PATH=FUNCTION, such as \"GET /hello=hello\"", text)
		}
		methods, path, ok := strings.Cut(strings.TrimSpace(text[:i]), " ")
		if !ok {
			methods, path = "", methods
		}
		route := map[string]any{"path": strings.TrimSpace(path), "function": strings.TrimSpace(text[i+1:])}
		if methods != "" {
			route["methods"] = strings.Split(strings.ToUpper(methods), ",")
		}
		if err := resource.ValidPath(strings.TrimSpace(path)); err != nil {
			return nil, usage("--route: %q: %w", text, err)
		}
		all = append(all, route)
	}
	return all, nil
}

// required says which flags are missing.
func required(cmd *cobra.Command, names ...string) error {
	for _, name := range names {
		flag := cmd.Flags().Lookup(name)
		if flag.Value.String() == "" {
			return usage("--%s is missing: %s", name, flag.Usage)
		}
	}
	return nil
}
