// Package cluster prepares the local Kubernetes: credentials before it starts, objects once it runs.
package cluster

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/cert"
)

// The files that Credentials makes.
const (
	ServerCert = "apiserver.crt"
	ServerKey  = "apiserver.key"
	AccountKey = "service-account.key"
	Tokens     = "tokens.csv"
)

// Credentials makes the API server's certificate, the key that signs service accounts' tokens, the admin's token and a
// kubeconfig with it. It leaves them alone when they are there: the kubeconfig comes last.
func Credentials(dir, kubeconfig, server string) (made bool, err error) {
	if _, err := os.Stat(kubeconfig); err == nil {
		return false, nil
	}
	loopback := []net.IP{net.IPv4(127, 0, 0, 1), net.IPv4(10, 96, 0, 1)}
	names := []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"}
	crt, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", loopback, names)
	if err != nil {
		return false, fmt.Errorf("make the API server's certificate: %w", err)
	}
	account, err := newKey()
	if err != nil {
		return false, fmt.Errorf("make the key for service accounts: %w", err)
	}
	random := make([]byte, 24)
	if _, err := rand.Read(random); err != nil {
		return false, fmt.Errorf("make the admin's token: %w", err)
	}
	token := hex.EncodeToString(random)
	err = errors.Join(
		os.WriteFile(filepath.Join(dir, ServerCert), crt, 0o644),
		os.WriteFile(filepath.Join(dir, ServerKey), key, 0o600),
		os.WriteFile(filepath.Join(dir, AccountKey), account, 0o600),
		os.WriteFile(filepath.Join(dir, Tokens), []byte(token+",admin,admin,system:masters\n"), 0o600))
	if err != nil {
		return false, fmt.Errorf("write the credentials: %w", err)
	}
	return true, writeKubeconfig(kubeconfig, server, crt, token)
}

func newKey() ([]byte, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}), nil
}

func writeKubeconfig(path, server string, ca []byte, token string) error {
	const name = "lockstep"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: ca}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: token}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	config.CurrentContext = name
	if err := clientcmd.WriteToFile(*config, path); err != nil { // with mode 0600
		return fmt.Errorf("write the kubeconfig: %w", err)
	}
	return nil
}
