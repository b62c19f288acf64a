package testenv

import (
	"net/url"
	"path/filepath"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
)

// KubeLine returns a line to the API server, and the path of a kubeconfig that
// leads through it.
func KubeLine(t testing.TB) (line *Line, kubeconfig string) {
	t.Helper()
	config, err := clientcmd.LoadFromFile(Kubeconfig(t))
	if err != nil {
		t.Fatal(err)
	}
	cluster := config.Clusters[config.Contexts[config.CurrentContext].Cluster]
	server, err := url.Parse(cluster.Server)
	if err != nil {
		t.Fatal(err)
	}
	host := server.Host
	if server.Port() == "" {
		host += ":443"
	}
	line = NewLine(t, host)
	if cluster.TLSServerName == "" {
		cluster.TLSServerName = server.Hostname()
	}
	server.Host = line.Addr
	cluster.Server = server.String()
	kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, kubeconfig); err != nil {
		t.Fatal(err)
	}
	return line, kubeconfig
}
