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
	"github.com/lockstep-io/lockstep/tools/devstack/internal/stack"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const defaultName = "default"

func main() {
	// These take their arguments as they come. The first two are what the stack's processes are, and are hidden.
	if len(os.Args) > 2 {
		switch os.Args[1] {
		case debian.EnterCommand:
			exit(debian.Enter(os.Args[2:]))
		case "component":
			exit(servers.Run(os.Args[2], os.Args[3:]))
		case "kubectl":
			kubectl(os.Args[2:])
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

// kubectl runs kubectl on the cluster of KUBECONFIG, or else on the default stack's.
func kubectl(args []string) {
	if os.Getenv("KUBECONFIG") == "" {
		s, err := stack.Open(defaultName)
		if err != nil {
			exit(err)
		}
		os.Setenv("KUBECONFIG", s.Kubeconfig())
	}
	servers.Kubectl(args)
	exit(nil)
}

// kubectlCommand is only there for the help text: main runs it.
func kubectlCommand() *cobra.Command {
	return &cobra.Command{Use: "kubectl ARGS", Short: "Run kubectl on the cluster of KUBECONFIG, or else on the default stack's",
		DisableFlagParsing: true, Run: func(_ *cobra.Command, args []string) { kubectl(args) }}
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
	name := root.PersistentFlags().String("name", defaultName, "name of the stack")
	root.AddCommand(upCommand(name), downCommand(name), statusCommand(name), envCommand(name), toolsCommand(), kubectlCommand())
	root.AddCommand(faultCommands(name)...)
	return root
}
