#!/bin/sh
# Builds devstack into the cache, unless this very state of the sources was built before, and prints the path of the
# binary. Progress goes to stderr. The first build compiles some 3,000 packages: minutes on two cores.
#
# Beside the binary lie `ferretdb` and `assets/`: CRDs, kwok's stages and its storage class, copied from the Go modules.
set -eu
cd "$(dirname "$0")"

cache=${LOCKSTEP_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/lockstep}
hash=$( { go env GOVERSION GOOS GOARCH; find . -type f \( -name '*.go' -o -name go.mod -o -name go.sum -o -name build.sh \
	-o -name '*.yaml' \) ! -name '*_test.go' | LC_ALL=C sort | xargs sha256sum; } | sha256sum | cut -c1-12)
dir=$cache/devstack-$hash

done_before() {
	[ -x "$dir/devstack" ] || return 1
	touch "$dir" # it is in use
	echo "$dir/devstack"
}
done_before && exit

# Better now than after minutes of building.
if [ "$(id -u)" != 0 ] && { [ -z "${MONGODB_URI:-}" ] || [ -z "${KUBECONFIG:-}" ]; }; then
	echo "devstack: run as root, or set MONGODB_URI and KUBECONFIG to servers of your own" >&2
	exit 1
fi

mkdir -p "$cache"
exec 9>"$cache/building.lock"
flock -n 9 || { echo "devstack: another build is at work; waiting for it" >&2 && flock 9; }
done_before && exit

new=$(mktemp -d "$cache/building.XXXXXX")
heartbeat=
trap '[ -z "$heartbeat" ] || kill "$heartbeat" 2>/dev/null; rm -rf "$new"' EXIT
trap 'exit 130' INT TERM

# The heartbeat says every few seconds how far the build is, as long as this script lives.
begin=$(date +%s)
log=$new/build.log
: >"$log"
(while sleep 5 && kill -0 $$ 2>/dev/null; do
	echo "devstack: $(grep -c / "$log") packages fetched or compiled, $(($(date +%s) - begin)) s" >&2
done) 9>&- &
heartbeat=$!

echo "devstack: building, once for this state of the sources (3,000 packages, minutes, if the machine has built none yet)" >&2
version=$(go list -m -f '{{.Version}}' k8s.io/kubernetes 2>>"$log")
if ! nice go build -v -trimpath -ldflags "-s -w -X k8s.io/component-base/version.gitVersion=$version" -o "$new/" \
	. github.com/FerretDB/FerretDB/v2/cmd/ferretdb 2>>"$log"; then
	grep ' ' "$log" | tail -n 30 >&2 # without the names of packages
	exit 1
fi

module() { go list -m -f '{{.Dir}}' "$1"; }
go mod download github.com/apache/apisix-ingress-controller
mkdir -p "$new/assets/crds" "$new/assets/stages" "$new/assets/objects"
cp "$(module github.com/cert-manager/cert-manager)"/deploy/crds/*.yaml \
	"$(module github.com/apache/apisix-ingress-controller)"/samples/deploy/crd/v1/Apisix*.yaml "$new/assets/crds/"
stages=$(module sigs.k8s.io/kwok)/kustomize/stage
cp "$stages"/node/fast/node-*.yaml "$stages"/node/heartbeat-with-lease/node-*.yaml "$stages"/pod/fast/pod-*.yaml \
	"$stages"/volume/fast/pv*.yaml "$new/assets/stages/"
cp "$stages"/volume/fast/storage-class.yaml "$new/assets/objects/"
chmod -R u+w "$new"

chmod 755 "$new"
rm -rf "$dir"
mv "$new" "$dir"
# Builds that nobody has used for a month, and what interrupted builds have left.
find "$cache" -maxdepth 1 \( -name 'devstack-*' -mtime +30 -o -name 'building.??????' -mmin +120 \) -exec rm -rf {} +
echo "devstack: built in $(($(date +%s) - begin)) s" >&2
echo "$dir/devstack"
