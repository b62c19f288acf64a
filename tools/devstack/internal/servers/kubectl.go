package servers

import (
	"os"

	"github.com/spf13/pflag"
	"k8s.io/component-base/cli"
	"k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
)

// Kubectl runs kubectl. When it fails it says why and ends the process with kubectl's own exit code.
func Kubectl(args []string) {
	pflag.CommandLine = pflag.NewFlagSet("kubectl", pflag.ContinueOnError)
	os.Args = append([]string{"kubectl"}, args...)
	command := cmd.NewDefaultKubectlCommand()
	command.SetArgs(args)
	util.CheckErr(cli.RunNoErrOutput(command))
}
