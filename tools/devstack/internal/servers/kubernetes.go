package servers

import (
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register" // the JSON log format
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

func runAPIServer(args []string) error { return runCommand(apiserver.NewAPIServerCommand(), args) }

func runControllerManager(args []string) error {
	return runCommand(controllermanager.NewControllerManagerCommand(), args)
}

func runScheduler(args []string) error { return runCommand(scheduler.NewSchedulerCommand(), args) }

// runCommand runs a command of Kubernetes the way its own main does. The command says itself what went wrong.
func runCommand(command *cobra.Command, args []string) error {
	command.SetArgs(args)
	if code := cli.Run(command); code != 0 {
		return fmt.Errorf("exit code %d", code)
	}
	return nil
}
