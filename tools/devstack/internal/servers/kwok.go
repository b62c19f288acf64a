package servers

import (
	"os"

	"github.com/spf13/pflag"
	"sigs.k8s.io/kwok/pkg/config"
	"sigs.k8s.io/kwok/pkg/kwok/cmd"
	"sigs.k8s.io/kwok/pkg/log"
	"sigs.k8s.io/kwok/pkg/utils/signals"
)

// runKwok runs the simulated kubelets. kwok reads its global flags from os.Args itself. The packages of Kubernetes, linked
// into the same binary, have left global flags of their own that must not mix with kwok's.
func runKwok(args []string) error {
	pflag.CommandLine = pflag.NewFlagSet("kwok", pflag.ContinueOnError)
	os.Args = append([]string{"kwok"}, args...)
	global := pflag.NewFlagSet("global", pflag.ContinueOnError)
	global.ParseErrorsAllowlist.UnknownFlags = true
	global.Usage = func() {}

	ctx, _ := log.InitFlags(signals.SetupSignalContext(), global)
	ctx, err := config.InitFlags(ctx, global)
	if err != nil {
		return err
	}
	command := cmd.NewCommand(ctx)
	command.PersistentFlags().AddFlagSet(global)
	command.SetArgs(args)
	return command.ExecuteContext(ctx)
}
