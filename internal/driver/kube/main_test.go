package kube_test

import (
	"context"
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/lockstep-io/lockstep/internal/driver/drivertest"
	"github.com/lockstep-io/lockstep/internal/driver/kube"
	"github.com/lockstep-io/lockstep/internal/resource"
)

func TestMain(m *testing.M) { drivertest.Main(m) }

var errLost = errors.New("lock lost, says the store")

// configMap is the gateway's ConfigMap with one entry, as an object to apply.
func configMap(gatewayID, value string) *unstructured.Unstructured {
	obj := configMapRef(gatewayID).Object()
	obj.Object["data"] = map[string]any{"value": value}
	return obj
}

func configMapRef(gatewayID string) kube.Ref {
	return kube.Ref{Type: kube.ConfigMap, Namespace: gatewayID, Name: resource.ConfigMapName(gatewayID)}
}

func value(t testing.TB, obj *unstructured.Unstructured) string {
	t.Helper()
	if obj == nil {
		t.Fatal("the object is not there")
	}
	value, _, _ := unstructured.NestedString(obj.Object, "data", "value")
	return value
}

// apply applies under a token and expects it to succeed.
func apply(t testing.TB, c *kube.Client, gatewayID, value string, token int64) kube.Applied {
	t.Helper()
	applied, err := c.Apply(context.Background(), drivertest.Gateway(gatewayID, token), configMap(gatewayID, value))
	if err != nil || applied.Waiting != "" {
		t.Fatalf("applying %q under token %d: %q, %v", value, token, applied.Waiting, err)
	}
	return applied
}

// isLockLost is how kinds, which do not import this package, recognise it.
func isLockLost(err error) bool {
	var lost interface {
		error
		LockLost() bool
	}
	return errors.As(err, &lost) && lost.LockLost()
}

func isTerminal(err error) bool {
	var terminal interface {
		error
		Terminal() bool
	}
	return errors.As(err, &terminal) && terminal.Terminal()
}
