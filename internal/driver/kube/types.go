package kube

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Type is a type of Kubernetes object that the drivers manage.
type Type struct {
	Group, Version, Kind string
	// Resource is the type's name in URLs.
	Resource   string
	Namespaced bool
}

// The managed types.
var (
	Namespace          = Type{"", "v1", "Namespace", "namespaces", false}
	ConfigMap          = Type{"", "v1", "ConfigMap", "configmaps", true}
	Secret             = Type{"", "v1", "Secret", "secrets", true}
	Service            = Type{"", "v1", "Service", "services", true}
	Deployment         = Type{"apps", "v1", "Deployment", "deployments", true}
	ApisixRoute        = Type{"apisix.apache.org", "v2", "ApisixRoute", "apisixroutes", true}
	ApisixPluginConfig = Type{"apisix.apache.org", "v2", "ApisixPluginConfig", "apisixpluginconfigs", true}
	ApisixTls          = Type{"apisix.apache.org", "v2", "ApisixTls", "apisixtlses", true} //nolint:revive // Kubernetes' own spelling
	ApisixConsumer     = Type{"apisix.apache.org", "v2", "ApisixConsumer", "apisixconsumers", true}
	Certificate        = Type{"cert-manager.io", "v1", "Certificate", "certificates", true}
)

// Types lists the managed types: what is watched, listed and swept.
var Types = []Type{
	Namespace, ConfigMap, Secret, Service, Deployment,
	ApisixRoute, ApisixPluginConfig, ApisixTls, ApisixConsumer, Certificate,
}

// unread are the types of which the cache and lists hold the metadata alone:
// no one needs more of them, and Secrets must not lie about in memory.
var unread = map[Type]bool{ConfigMap: true, Secret: true, Service: true}

// pods and replicaSets are not managed by this driver but looked at; strays are
// deleted.
var (
	pods        = Type{"", "v1", "Pod", "pods", true}
	replicaSets = Type{"apps", "v1", "ReplicaSet", "replicasets", true}
)

// GVR is the type's resource for client-go.
func (t Type) GVR() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: t.Group, Version: t.Version, Resource: t.Resource}
}

// GVK is the type's kind for client-go.
func (t Type) GVK() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: t.Group, Version: t.Version, Kind: t.Kind}
}

// Ref names one object.
type Ref struct {
	Type Type
	// Namespace is empty for objects outside namespaces.
	Namespace string
	Name      string
}

// String is how messages name the object: "deployment vn8ofl/vn8ofl-runtime".
func (r Ref) String() string {
	name := r.Name
	if r.Type.Namespaced {
		name = r.Namespace + "/" + r.Name
	}
	return strings.ToLower(r.Type.Kind) + " " + name
}

// Object returns an empty object of that type and name, to be filled and
// applied.
func (r Ref) Object() *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(r.Type.GVK())
	obj.SetNamespace(r.Namespace)
	obj.SetName(r.Name)
	return obj
}

// typeOf finds the managed type of an object.
func typeOf(obj *unstructured.Unstructured) (Type, bool) {
	for _, t := range Types {
		if t.GVK() == obj.GroupVersionKind() {
			return t, true
		}
	}
	return Type{}, false
}
