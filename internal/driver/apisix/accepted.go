package apisix

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/lockstep-io/lockstep/internal/driver/kube"
)

// pending says why the ingress controller has not accepted the object yet, and
// "" if it has. Version 1 of the controller reports ResourcesAvailable, version
// 2 Accepted. What was reported for an earlier generation says nothing about
// this one; lastTransitionTime is not to be relied on.
func pending(live *unstructured.Unstructured) string {
	for _, condition := range kube.Conditions(live) {
		if condition.Type != "ResourcesAvailable" && condition.Type != "Accepted" {
			continue
		}
		if observed, said := observedGeneration(live, condition); said && observed < live.GetGeneration() {
			return "the ingress controller has not yet seen this change"
		}
		if condition.Status == "True" {
			return ""
		}
		return "not accepted: " + condition.Why()
	}
	return "the ingress controller has not reported on it yet"
}

// observedGeneration is the generation that a condition is about. The CRD of
// ApisixConsumer has no such field in its conditions, only beside them, and
// not every version fills that: where it says nothing, the condition is taken
// as it stands. Every other type must say it.
func observedGeneration(live *unstructured.Unstructured, condition kube.Condition) (generation int64, said bool) {
	if condition.ObservedGeneration > 0 {
		return condition.ObservedGeneration, true
	}
	generation, found, _ := unstructured.NestedInt64(live.Object, "status", "observedGeneration")
	return generation, found || live.GetKind() != kube.ApisixConsumer.Kind
}
