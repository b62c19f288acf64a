// Devstack is a real local stack without Docker: a MongoDB-compatible store (DocumentDB behind two FerretDB gateways) and a
// Kubernetes control plane (etcd, API server, controllers, scheduler, kwok's nodes, cert-manager). See README.md.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/lockstep-io/lockstep/tools/devstack/internal/debian"
	"github.com/lockstep-io/lockstep/tools/devstack/internal/servers"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func main() {
	// The two hidden subcommands are what the stack's processes are: they take their arguments as they come.
	if len(os.Args) > 2 {
		switch os.Args[1] {
		case debian.EnterCommand:
			exit(debian.Enter(os.Args[2:]))
		case "component":
			exit(servers.Run(os.Args[2], os.Args[3:]))
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	exit(rootCommand().ExecuteContext(ctx))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "devstack:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func rootCommand() *cobra.Command {
	// The packages of Kubernetes register global flags, which cobra would offer as ours.
	pflag.CommandLine = pflag.NewFlagSet("devstack", pflag.ContinueOnError)
	root := &cobra.Command{
		Use:               "devstack",
		Short:             "A real local stack without Docker: MongoDB, Kubernetes, cert-manager",
		SilenceUsage:      true,
		SilenceErrors:     true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	name := root.PersistentFlags().String("name", "default", "name of the stack")
	root.AddCommand(upCommand(name), downCommand(name), statusCommand(name), envCommand(name), toolsCommand())
	root.AddCommand(faultCommands(name)...)
	return root
}
