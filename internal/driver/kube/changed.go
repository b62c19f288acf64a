package kube

import (
	"maps"
	"reflect"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/lockstep-io/lockstep/internal/resource"
)

// changed reports whether an update is worth a hint. The marks that claims
// leave on an object are not: a claim that hinted itself would never rest.
func changed(before, after any) bool {
	b, errB := meta.Accessor(before)
	a, errA := meta.Accessor(after)
	if errA != nil || errB != nil {
		return true
	}
	if a.GetResourceVersion() == b.GetResourceVersion() {
		return false // listed again, not changed
	}
	return metadataChanged(b, a) || contentChanged(before, after)
}

func metadataChanged(before, after v1.Object) bool {
	return before.GetUID() != after.GetUID() ||
		before.GetGeneration() != after.GetGeneration() ||
		terminating(before) != terminating(after) ||
		!reflect.DeepEqual(before.GetFinalizers(), after.GetFinalizers()) ||
		!maps.Equal(before.GetLabels(), after.GetLabels()) ||
		!maps.Equal(withoutMarks(before), withoutMarks(after))
}

func withoutMarks(obj v1.Object) map[string]string {
	annotations := maps.Clone(obj.GetAnnotations())
	delete(annotations, resource.AnnotationToken)
	delete(annotations, AnnotationApplied)
	return annotations
}

// contentChanged compares everything outside the metadata. Of objects that
// only the metadata is watched of, their content must have changed if no mark
// has.
func contentChanged(before, after any) bool {
	b, okB := before.(*unstructured.Unstructured)
	a, okA := after.(*unstructured.Unstructured)
	if !okA || !okB {
		return !marksChanged(before, after)
	}
	for key, value := range a.Object {
		if key != "metadata" && !reflect.DeepEqual(value, b.Object[key]) {
			return true
		}
	}
	return len(a.Object) != len(b.Object)
}

func marksChanged(before, after any) bool {
	b, _ := meta.Accessor(before)
	a, _ := meta.Accessor(after)
	return !maps.Equal(b.GetAnnotations(), a.GetAnnotations())
}
