package kube

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/lockstep-io/lockstep/internal/resource"
)

// dress returns a copy of obj with the marks of owner, save the tokens, and
// with the hash of its content.
func dress(owner resource.Owner, obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	// Through JSON and back: numbers get the types that the API server's
	// answers have, which the comparison relies on.
	data, err := json.Marshal(obj.Object)
	if err != nil {
		return nil, err
	}
	want := &unstructured.Unstructured{}
	if err := json.Unmarshal(data, &want.Object); err != nil {
		return nil, err
	}
	unstructured.RemoveNestedField(want.Object, "status")
	unstructured.RemoveNestedField(want.Object, "metadata", "creationTimestamp")

	labels := want.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, OwnerLabels(owner))
	want.SetLabels(labels)
	annotate(want, resource.AnnotationOwner, owner.ID)

	// Marshalling sorts keys, so that the same content has the same hash.
	data, err = json.Marshal(want.Object)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data)
	annotate(want, AnnotationHash, hex.EncodeToString(sum[:8]))
	return want, nil
}

func annotate(obj *unstructured.Unstructured, key, value string) {
	annotations := obj.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[key] = value
	obj.SetAnnotations(annotations)
}

// differs returns the path of a field of want that live does not have so, and
// "" if live has all of them. Fields that only live has are others' business
// (or defaults). Never returns values: they may be secret.
func differs(want, live *unstructured.Unstructured) string {
	return differ("", want.Object, live.Object)
}

func differ(path string, want, live any) string {
	switch want := want.(type) {
	case map[string]any:
		return differMap(path, want, live)
	case []any:
		return differList(path, want, live)
	case nil:
		return ""
	}
	if want != live {
		return path
	}
	return ""
}

func differMap(path string, want map[string]any, live any) string {
	liveMap, ok := live.(map[string]any)
	if !ok && (live != nil || len(want) > 0) {
		return path
	}
	for key, value := range want {
		got, ok := liveMap[key]
		if !ok && !empty(value) {
			return path + "." + key
		}
		if at := differ(path+"."+key, value, got); at != "" && !(empty(value) && empty(got)) {
			return at
		}
	}
	return ""
}

// differList compares lists whose elements have a key among themselves as the
// API server merges them: by key, others' elements aside. All other lists are
// owned whole.
func differList(path string, want []any, live any) string {
	got, ok := live.([]any)
	if !ok && len(want) > 0 {
		return path
	}
	key := mergeKey(path)
	if key == "" && len(want) != len(got) {
		return path
	}
	for i, value := range want {
		at := fmt.Sprintf("%s[%d]", path, i)
		var found any
		if key == "" {
			found = got[i]
		} else if found = byKey(got, key, value); found == nil {
			return at
		}
		if at := differ(at, value, found); at != "" {
			return at
		}
	}
	return ""
}

// mergeKeys are the lists of the managed types that the API server merges by a
// key. Lists of custom resources are all owned whole.
var mergeKeys = map[string]string{
	".spec.template.spec.containers":                 "name",
	".spec.template.spec.containers[0].env":          "name",
	".spec.template.spec.containers[0].ports":        "containerPort",
	".spec.template.spec.containers[0].volumeMounts": "mountPath",
	".spec.template.spec.volumes":                    "name",
	".spec.ports":                                    "port",
}

func mergeKey(path string) string { return mergeKeys[path] }

func byKey(list []any, key string, want any) any {
	wanted, _ := want.(map[string]any)
	for _, element := range list {
		if m, ok := element.(map[string]any); ok && m[key] == wanted[key] {
			return element
		}
	}
	return nil
}

// empty values and missing ones are the same to the API server.
func empty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}
