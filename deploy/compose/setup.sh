#!/bin/sh
# Makes of a fresh k3s a cluster as the service expects it. It can be run again at any time.
set -eu

# k3s writes a kubeconfig for itself; to the others it is the host "k3s".
sed 's#https://127.0.0.1:#https://k3s:#' /kube/k3s.yaml >"$KUBECONFIG"
chmod 644 "$KUBECONFIG"

echo "installing cert-manager $CERT_MANAGER_VERSION"
kubectl apply --server-side -f \
	"https://github.com/cert-manager/cert-manager/releases/download/$CERT_MANAGER_VERSION/cert-manager.yaml"

echo "installing the CRDs of APISIX's ingress controller $APISIX_CRDS_VERSION"
for crd in ApisixClusterConfig ApisixConsumer ApisixGlobalRule ApisixPluginConfig ApisixRoute ApisixTls ApisixUpstream; do
	kubectl apply --server-side -f \
		"https://raw.githubusercontent.com/apache/apisix-ingress-controller/$APISIX_CRDS_VERSION/samples/deploy/crd/v1/$crd.yaml"
done

kubectl -n cert-manager wait --for=condition=Available deployment --all --timeout=5m

echo "making the ClusterIssuer of custom domains"
# Its webhook may need some seconds more than its Deployment says.
for attempt in 1 2 3 4 5 6 7 8 9 10; do
	if kubectl apply -f - <<-ISSUER; then
		apiVersion: cert-manager.io/v1
		kind: ClusterIssuer
		metadata:
		  name: lockstep
		spec:
		  selfSigned: {}
	ISSUER
		exit 0
	fi
	echo "attempt $attempt failed; trying again"
	sleep 3
done
exit 1
