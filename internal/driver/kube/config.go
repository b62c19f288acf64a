package kube

import (
	"errors"
	"fmt"
	"io/fs"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/lockstep-io/lockstep/internal/resource"
)

// restConfig reads the region's kubeconfig, or the pod's own credentials where
// there is none. Its errors name the file and what to do.
func restConfig(region resource.Region) (*rest.Config, error) {
	if region.Kubeconfig == "" {
		return inCluster(region.Name)
	}
	file := region.Kubeconfig
	fail := func(problem, fix string) (*rest.Config, error) {
		return nil, fmt.Errorf("region %q: kubeconfig %s: %s: %s", region.Name, file, problem, fix)
	}

	config, err := clientcmd.LoadFromFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fail("there is no such file", "create it, or correct the region's kubeconfig path")
	case errors.Is(err, fs.ErrPermission):
		return fail("it may not be read", "give the service read permission on it")
	case err != nil:
		// The parser's own words can quote the file, and the file holds keys.
		return fail("it is not a kubeconfig in YAML or JSON", "check it with: kubectl --kubeconfig "+file+" config view")
	}
	if problem, fix := check(config); problem != "" {
		return fail(problem, fix)
	}
	rc, err := clientcmd.NewDefaultClientConfig(*config, nil).ClientConfig()
	if err != nil {
		return fail(err.Error(), "check it with: kubectl --kubeconfig "+file+" config view")
	}
	return rc, nil
}

// check finds the usual mistakes before client-go reports them in its own,
// less helpful way (it falls back to localhost for an empty file).
func check(config *api.Config) (problem, fix string) {
	current := config.CurrentContext
	if current == "" {
		return "current-context is empty", "set it with: kubectl config use-context NAME"
	}
	context := config.Contexts[current]
	if context == nil {
		return fmt.Sprintf("current-context %q is not among its contexts", current),
			"set it with: kubectl config use-context NAME"
	}
	cluster := config.Clusters[context.Cluster]
	if cluster == nil {
		return fmt.Sprintf("context %q names the cluster %q, which is not there", current, context.Cluster),
			"add the cluster, or correct the context"
	}
	if cluster.Server == "" {
		return fmt.Sprintf("cluster %q has no server", context.Cluster), "set its server to the API server's URL"
	}
	if context.AuthInfo != "" && config.AuthInfos[context.AuthInfo] == nil {
		return fmt.Sprintf("context %q names the user %q, which is not there", current, context.AuthInfo),
			"add the user, or correct the context"
	}
	return "", ""
}

func inCluster(region string) (*rest.Config, error) {
	config, err := rest.InClusterConfig()
	if errors.Is(err, rest.ErrNotInCluster) {
		return nil, fmt.Errorf("region %q: kubeconfig is empty, which means the cluster that the service runs in, "+
			"but this is not a pod: set kubeconfig to a file", region)
	}
	if err != nil {
		return nil, fmt.Errorf("region %q: reading the pod's service account: %w", region, err)
	}
	return config, nil
}
