package e2e

import (
	"strings"
	"testing"
)

// A pod's grace period is waited for when its namespace is deleted, in part, although no kubelet needs it.
const workloads = `
apiVersion: v1
kind: Namespace
metadata: {name: e2e}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: e2e}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {terminationGracePeriodSeconds: 1, containers: [{name: web, image: example/web}]}
---
apiVersion: batch/v1
kind: Job
metadata: {name: once, namespace: e2e}
spec:
  template:
    spec: {terminationGracePeriodSeconds: 1, restartPolicy: Never, containers: [{name: once, image: example/once}]}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: disk, namespace: e2e}
spec:
  storageClassName: kwok-volume
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 1Gi}}
`

func (s *testStack) testWorkloads(t *testing.T) {
	s.kubectl(t, workloads, "apply", "-f", "-")
	s.kubectl(t, "", "wait", "-n", "e2e", "deployment/web", "--for=condition=Available", "--timeout=60s")
	s.kubectl(t, "", "wait", "-n", "e2e", "job/once", "--for=condition=Complete", "--timeout=60s")
	s.kubectl(t, "", "wait", "-n", "e2e", "pvc/disk", "--for=jsonpath={.status.phase}=Bound", "--timeout=60s")
	s.kubectl(t, "", "delete", "namespace", "e2e", "--wait=true", "--timeout=60s")
	if out, err := s.tryKubectl("", "get", "namespace", "e2e"); err == nil {
		t.Errorf("the namespace is still there:\n%s", out)
	}
}

// A root made by itself, an issuer that signs with it, and a leaf.
const certificates = `
apiVersion: cert-manager.io/v1
kind: ClusterIssuer
metadata: {name: selfsigned}
spec: {selfSigned: {}}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: root, namespace: cert-manager}
spec:
  isCA: true
  commonName: root
  secretName: root
  issuerRef: {name: selfsigned, kind: ClusterIssuer}
---
apiVersion: cert-manager.io/v1
kind: ClusterIssuer
metadata: {name: local-ca}
spec: {ca: {secretName: root}}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: leaf, namespace: default}
spec:
  dnsNames: [api.example.test]
  secretName: leaf
  issuerRef: {name: local-ca, kind: ClusterIssuer}
`

func (s *testStack) testCertificates(t *testing.T) {
	s.kubectl(t, certificates, "apply", "-f", "-")
	s.kubectl(t, "", "wait", "-n", "default", "certificate/leaf", "--for=condition=Ready", "--timeout=60s")
	secret := s.kubectl(t, "", "get", "-n", "default", "secret", "leaf", "-o", "jsonpath={.type} {.data.tls\\.crt}")
	if !strings.HasPrefix(secret, "kubernetes.io/tls LS0t") {
		t.Errorf("the leaf's Secret holds no certificate: %.60s", secret)
	}
}

const route = `
apiVersion: apisix.apache.org/v2
kind: ApisixRoute
metadata: {name: api, namespace: default}
spec:
  http:
  - name: all
    match: {hosts: [api.example.test], paths: [/*]}
    backends: [{serviceName: web, servicePort: PORT}]
`

func (s *testStack) testRules(t *testing.T) {
	s.kubectl(t, strings.ReplaceAll(route, "PORT", "80"), "apply", "--server-side", "-f", "-")
	if out, err := s.tryKubectl(strings.ReplaceAll(route, "PORT", "[]"), "apply", "--server-side", "-f", "-"); err == nil {
		t.Errorf("a route with a senseless port was accepted:\n%s", out)
	}
	out, err := s.tryKubectl("", "auth", "can-i", "create", "pods", "--as=system:serviceaccount:default:default")
	if err == nil || !strings.HasPrefix(out, "no") {
		t.Errorf("a service account without a role may create pods: %s", out)
	}
}
