// Command lockstep is the service and its command line.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/lockstep-io/lockstep/internal/cli"
)

// version is set when the binary is linked.
var version = "dev"

func main() {
	// The second signal ends the process at once: the first one's context
	// stops listening as soon as it has ended.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	if err := root().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "lockstep: "+err.Error())
		os.Exit(int(cli.ExitCode(err)))
	}
}

func root() *cobra.Command {
	cmd := &cobra.Command{
		Use:           "lockstep",
		Short:         "Documents that move in lockstep: API gateways on MongoDB and Kubernetes",
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	cmd.AddCommand(serveCommand())
	cmd.AddCommand(cli.Commands(clientEnv())...)
	cli.Subcommands(cmd)
	return cmd
}
