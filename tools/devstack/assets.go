//go:build assets

package main

// The CRDs of APISIX come from this module; nothing of its code is linked. The import, seen only by `go mod tidy`, keeps
// its version in go.mod and its checksum in go.sum.
import _ "github.com/apache/apisix-ingress-controller/pkg/kube/apisix/apis/config/v2"
