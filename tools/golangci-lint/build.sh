#!/bin/sh
# Builds the linter into the cache, unless this version was built by this Go before, and prints the path of the binary.
# Progress goes to stderr. It is a module of its own, so that its 200 dependencies are none of the product's.
set -eu
cd "$(dirname "$0")"

cache=${LOCKSTEP_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/lockstep}
version=$(go list -m -f '{{.Version}}' github.com/golangci/golangci-lint/v2)
dir=$cache/golangci-lint-$version-$(go env GOVERSION)
binary=$dir/golangci-lint

if [ ! -x "$binary" ]; then
	mkdir -p "$dir"
	exec 9>"$dir/lock"
	flock 9
fi
if [ ! -x "$binary" ]; then
	echo "golangci-lint: building $version, once (minutes, if the machine has built none yet)" >&2
	begin=$(date +%s)
	nice go build -trimpath -ldflags "-s -w -X main.version=$version" -o "$binary.new" \
		github.com/golangci/golangci-lint/v2/cmd/golangci-lint
	mv "$binary.new" "$binary"
	echo "golangci-lint: built in $(($(date +%s) - begin)) s" >&2
fi
echo "$binary"
