// Package servers holds the programs of the stack that are Go libraries: etcd, the Kubernetes control plane, kwok and
// cert-manager. Each runs alone in a process of its own (`devstack component NAME ...`), so that one can be killed or
// stopped without the others.
package servers

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// programs are the components by name. A program runs until it is told to stop by a signal.
var programs = map[string]func(args []string) error{
	"etcd":                    runEtcd,
	"kube-apiserver":          runAPIServer,
	"kube-controller-manager": runControllerManager,
	"kube-scheduler":          runScheduler,
	"kwok":                    runKwok,
	"cert-manager":            runCertManager,
}

// Run runs the named program with its arguments.
func Run(name string, args []string) error {
	program, ok := programs[name]
	if !ok {
		known := slices.Sorted(maps.Keys(programs))
		return fmt.Errorf("no component %q: there are %s", name, strings.Join(known, ", "))
	}
	if err := program(args); err != nil {
		return fmt.Errorf("run %s: %w", name, err)
	}
	return nil
}
