package apisix

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/lockstep-io/lockstep/internal/driver/kube"
)

// Guards: an ApisixConsumer can be accepted although its CRD has no
// observedGeneration in conditions, and is not where the generation beside
// them is an older one; every other type must say which generation it means.
func TestPendingByType(t *testing.T) {
	t.Parallel()
	condition := map[string]any{"type": "ResourcesAvailable", "status": "True"}
	for _, test := range []struct {
		typ    kube.Type
		status map[string]any
		done   bool
	}{
		{kube.ApisixConsumer, map[string]any{"conditions": []any{condition}}, true},
		{kube.ApisixConsumer, map[string]any{"conditions": []any{condition}, "observedGeneration": int64(2)}, true},
		{kube.ApisixConsumer, map[string]any{"conditions": []any{condition}, "observedGeneration": int64(1)}, false},
		{kube.ApisixRoute, map[string]any{"conditions": []any{condition}}, false},
		{kube.ApisixRoute, map[string]any{}, false},
	} {
		obj := kube.Ref{Type: test.typ, Namespace: "n", Name: "x"}.Object()
		obj.SetGeneration(2)
		_ = unstructured.SetNestedMap(obj.Object, test.status, "status")
		if reason := pending(obj); (reason == "") != test.done {
			t.Errorf("%s %v: %q", test.typ.Kind, test.status, reason)
		}
	}
}
