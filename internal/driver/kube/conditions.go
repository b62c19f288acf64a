package kube

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Condition is one entry of an object's status.conditions.
type Condition struct {
	Type, Status, Reason, Message string
	// ObservedGeneration is the generation the condition is about. Not every
	// controller says it: then it is 0.
	ObservedGeneration int64
}

// Conditions reads an object's status.conditions, whatever its type.
func Conditions(obj *unstructured.Unstructured) []Condition {
	list, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	found := make([]Condition, 0, len(list))
	for _, element := range list {
		m, ok := element.(map[string]any)
		if !ok {
			continue
		}
		c := Condition{}
		c.Type, _ = m["type"].(string)
		c.Status, _ = m["status"].(string)
		c.Reason, _ = m["reason"].(string)
		c.Message, _ = m["message"].(string)
		c.ObservedGeneration, _ = m["observedGeneration"].(int64)
		found = append(found, c)
	}
	return found
}

// Why puts a condition's reason into words, for people.
func (c Condition) Why() string {
	switch {
	case c.Message != "":
		return c.Message
	case c.Reason != "":
		return c.Reason
	}
	return c.Type + " is " + c.Status
}
