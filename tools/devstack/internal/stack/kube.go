package stack

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/lockstep-io/lockstep/tools/devstack/internal/cluster"
)

// Kubeconfig is the path of the admin's kubeconfig.
func (s *Stack) Kubeconfig() string { return s.path("kubeconfig") }

func (s *Stack) kubeComponents() []component {
	own := func(name string, port int, after string, scheme string, args ...string) component {
		health := scheme + "://" + s.addr(port)
		switch name {
		case apiServer:
			health += "/readyz"
		case etcd:
			health += "/health"
		default:
			health += "/healthz"
		}
		return component{name: name, port: port, after: []string{stepCredentials, after}, ready: s.answers(health),
			command: func() (*exec.Cmd, error) { return ownProgram(name, args...) }}
	}
	return []component{
		own(etcd, portEtcd, "", "http", s.etcdArgs()...),
		own(apiServer, portAPIServer, etcd, "https", s.apiServerArgs()...),
		own(controllerManager, portControllerManager, apiServer, "https", s.controllerManagerArgs()...),
		own(scheduler, portScheduler, apiServer, "https", s.schedulerArgs()...),
		own(kwok, portKwok, stepInstall, "http", s.kwokArgs()...),
		own(certManager, portCertManager, stepInstall, "http", s.certManagerArgs()...),
	}
}

// ownProgram runs this binary as one of the programs that are linked into it.
func ownProgram(name string, args ...string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this binary: %w", err)
	}
	return exec.Command(self, append([]string{"component", name}, args...)...), nil
}

func (s *Stack) etcdArgs() []string {
	return []string{
		"--data-dir=" + s.path("data", etcd),
		"--listen-client-url=http://" + s.addr(portEtcd),
		"--listen-peer-url=http://" + s.addr(portEtcdPeer),
	}
}

func (s *Stack) apiServerArgs() []string {
	return []string{
		"--etcd-servers=http://" + s.addr(portEtcd),
		"--bind-address=127.0.0.1", "--secure-port=" + s.port(portAPIServer),
		// No pod will ever call the API through its Service, so nobody needs an address of it.
		"--advertise-address=127.0.0.1", "--endpoint-reconciler-type=none",
		"--tls-cert-file=" + s.path("pki", cluster.ServerCert), "--tls-private-key-file=" + s.path("pki", cluster.ServerKey),
		"--cert-dir=" + s.path("pki"),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + s.path("pki", cluster.AccountKey),
		"--service-account-signing-key-file=" + s.path("pki", cluster.AccountKey),
		"--token-auth-file=" + s.path("pki", cluster.Tokens),
		"--authorization-mode=RBAC",
		"--service-cluster-ip-range=10.96.0.0/16",
	}
}

func (s *Stack) controllerManagerArgs() []string {
	return []string{
		"--kubeconfig=" + s.Kubeconfig(), "--leader-elect=false",
		"--bind-address=127.0.0.1", "--secure-port=" + s.port(portControllerManager),
		"--service-account-private-key-file=" + s.path("pki", cluster.AccountKey),
		"--root-ca-file=" + s.path("pki", cluster.ServerCert),
		"--kube-api-qps=500", "--kube-api-burst=1000",
		"--pvclaimbinder-sync-period=1s", // else a claim may wait 15 s and more to be bound
	}
}

func (s *Stack) schedulerArgs() []string {
	return []string{
		"--kubeconfig=" + s.Kubeconfig(), "--leader-elect=false",
		"--bind-address=127.0.0.1", "--secure-port=" + s.port(portScheduler),
		"--kube-api-qps=500", "--kube-api-burst=1000",
	}
}

func (s *Stack) kwokArgs() []string {
	args := []string{
		"--kubeconfig=" + s.Kubeconfig(), "--manage-all-nodes=true",
		"--server-address=" + s.addr(portKwok), "--node-lease-duration-seconds=40", "--v=warn",
	}
	stages, _ := filepath.Glob(filepath.Join(assetDir(), "stages", "*.yaml"))
	for _, stage := range stages {
		args = append(args, "--config="+stage)
	}
	return args
}

func (s *Stack) certManagerArgs() []string {
	return []string{"--kubeconfig=" + s.Kubeconfig(), "--health-address=" + s.addr(portCertManager)}
}

// credentials makes keys, the admin's token and the kubeconfig, once.
func (s *Stack) credentials(_ context.Context, say func(string)) error {
	made, err := cluster.Credentials(s.path("pki"), s.Kubeconfig(), "https://"+s.addr(portAPIServer))
	if err == nil {
		say(map[bool]string{true: "made", false: "kept"}[made])
	}
	return err
}

// install brings the CRDs, the storage class, the nodes and the namespace of cert-manager.
func (s *Stack) install(ctx context.Context, say func(string)) error {
	target, err := cluster.Connect(s.Kubeconfig())
	if err != nil {
		return err
	}
	count, err := target.InstallCRDs(ctx, crdDir())
	if err != nil {
		return err
	}
	say(fmt.Sprintf("%d CRDs, nodes, storage class", count))
	return target.InstallObjects(ctx, filepath.Join(assetDir(), "objects"))
}

// settled waits until a pod could run.
func (s *Stack) settled(ctx context.Context, say func(string)) error {
	target, err := cluster.Connect(s.Kubeconfig())
	if err != nil {
		return err
	}
	say("nodes ready, service accounts made")
	return target.WaitSettled(ctx)
}

// answers looks whether a health address says 200. Whose certificate it is does not matter on one's own loopback.
func (s *Stack) answers(url string) func(context.Context) error {
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // see above
		DisableKeepAlives: true,
	}}
	return func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return errors.New(url + " says " + response.Status)
		}
		return nil
	}
}

func crdDir() string { return filepath.Join(assetDir(), "crds") }

// assetDir holds what the build copied from the modules: CRDs, kwok's stages, the storage class.
func assetDir() string {
	dir, err := beside("assets")
	if err != nil {
		return "assets-missing"
	}
	return dir
}
