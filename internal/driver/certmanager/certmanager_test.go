package certmanager_test

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/lockstep-io/lockstep/internal/driver/certmanager"
	"github.com/lockstep-io/lockstep/internal/driver/drivertest"
	"github.com/lockstep-io/lockstep/internal/driver/kube"
	"github.com/lockstep-io/lockstep/internal/resource"
)

func TestMain(m *testing.M) { drivertest.Main(m) }

var issuers = schema.GroupVersionResource{Group: "cert-manager.io", Version: "v1", Resource: "clusterissuers"}

// issuer makes a self-signing ClusterIssuer.
func issuer(t *testing.T, name string) string {
	t.Helper()
	_, err := drivertest.Raw(t).Resource(issuers).Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "cert-manager.io/v1", "kind": "ClusterIssuer",
		"metadata": map[string]any{"name": name},
		"spec":     map[string]any{"selfSigned": map[string]any{}},
	}}, v1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := drivertest.Raw(t).Resource(issuers).Delete(context.Background(), name, v1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	return name
}

func client(t *testing.T, k *kube.Client, issuer string) *certmanager.Client {
	region := drivertest.Region(t)
	region.ClusterIssuer = issuer
	return certmanager.New(k, region)
}

func owner(id string, token int64) resource.Owner {
	return drivertest.Owner(resource.KindRuntimeDomain, id, id, token)
}

// Guards: ready means a certificate for the domain that is asked for now, from
// the real cert-manager; not the one for the domain before.
func TestCertificate(t *testing.T) {
	t.Parallel()
	id, k := drivertest.Namespace(t), drivertest.Client(t, kube.Options{})
	c := client(t, k, issuer(t, id))
	for token, domain := range []string{"one.example.org", "two.example.org"} {
		waiting, err := c.EnsureCertificate(t.Context(), owner(id, int64(token)), domain)
		if waiting == "" || err != nil {
			t.Errorf("ready at once: %v", err)
		}
		drivertest.Eventually(t, func() (string, error) {
			return c.EnsureCertificate(t.Context(), owner(id, int64(token)), domain)
		})
		if names := issuedFor(t, k, id); !slices.Equal(names, []string{domain}) {
			t.Errorf("ready with a certificate for %v", names)
		}
	}
	ref := kube.Ref{Type: kube.Certificate, Namespace: id, Name: resource.CustomDomainName(id)}
	before := drivertest.Live(t, ref)
	if waiting, err := c.EnsureCertificate(t.Context(), owner(id, 9), "two.example.org"); waiting != "" || err != nil {
		t.Errorf("waiting %q, %v", waiting, err)
	}
	// Whatever we write bears our token; cert-manager may still write its status.
	after := drivertest.Live(t, ref)
	if after.GetGeneration() != before.GetGeneration() || !maps.Equal(after.GetAnnotations(), before.GetAnnotations()) {
		t.Error("it was written to although nothing has changed")
	}
}

func issuedFor(t *testing.T, k *kube.Client, id string) []string {
	t.Helper()
	data, _, err := k.ReadSecret(t.Context(), id, resource.CustomTLSName(id))
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(data["tls.crt"])
	if block == nil {
		return nil
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return certificate.DNSNames
}

// Guards: a certificate that does not come says why, in cert-manager's words.
func TestCertificateSaysWhyItDoesNotCome(t *testing.T) {
	t.Parallel()
	id := drivertest.Namespace(t)
	c := client(t, drivertest.Client(t, kube.Options{}), "there-is-none")
	drivertest.Eventually(t, func() (string, error) {
		waiting, err := c.EnsureCertificate(t.Context(), owner(id, 1), "one.example.org")
		if waiting == "" {
			t.Fatal("ready without an issuer")
		}
		if strings.HasPrefix(waiting, "certificate "+id+"/") && strings.Contains(waiting, "Issuing certificate as Secret does not exist") {
			return "", err
		}
		return waiting, err
	})
}

// Guards: after the removal nothing is left, not even the private key in the
// Secret, which cert-manager keeps.
func TestRemoveCertificate(t *testing.T) {
	t.Parallel()
	id, k := drivertest.Namespace(t), drivertest.Client(t, kube.Options{})
	c := client(t, k, issuer(t, id))
	drivertest.Eventually(t, func() (string, error) {
		return c.EnsureCertificate(t.Context(), owner(id, 2), "one.example.org")
	})
	if _, err := c.RemoveCertificate(t.Context(), owner(id, 1)); !errors.Is(err, kube.ErrStale) {
		t.Errorf("a zombie: %v, want ErrStale", err)
	}
	if list, err := k.ListManaged(t.Context(), id); err != nil || len(list) != 3 {
		t.Errorf("%d objects of ours, want namespace, certificate and secret: %v", len(list), err)
	}
	drivertest.Eventually(t, func() (string, error) { return c.RemoveCertificate(t.Context(), owner(id, 3)) })
	for typ, name := range map[kube.Type]string{
		kube.Certificate: resource.CustomDomainName(id), kube.Secret: resource.CustomTLSName(id),
	} {
		if drivertest.Live(t, kube.Ref{Type: typ, Namespace: id, Name: name}) != nil {
			t.Errorf("the %s is still there", typ.Kind)
		}
	}
}
