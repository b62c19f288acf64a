package cluster

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
)

var (
	crds            = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	storageClasses  = schema.GroupVersionResource{Group: "storage.k8s.io", Version: "v1", Resource: "storageclasses"}
	namespaces      = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	nodes           = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
	serviceAccounts = schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}
)

// appliedKinds are the kinds a stack installs; none of them lives in a namespace.
var appliedKinds = map[string]schema.GroupVersionResource{
	"CustomResourceDefinition": crds, "StorageClass": storageClasses, "Namespace": namespaces, "Node": nodes,
}

// Cluster is a Kubernetes cluster to prepare.
type Cluster struct {
	client dynamic.Interface
}

// Connect makes a client; it does not call the cluster yet.
func Connect(kubeconfig string) (*Cluster, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w", err)
	}
	config.QPS, config.Burst = 200, 400
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	return &Cluster{client: client}, nil
}

// InstallCRDs applies the CRDs in the folder and waits until they are served.
func (c *Cluster) InstallCRDs(ctx context.Context, dir string) (count int, err error) {
	objects, err := readFolder(dir)
	if err != nil {
		return 0, err
	}
	if err := c.apply(ctx, objects); err != nil {
		return 0, err
	}
	return len(objects), poll(ctx, "all CRDs are served", c.allServed)
}

// InstallObjects applies the objects in the folder (kwok's storage class), the nodes and the namespace of cert-manager.
func (c *Cluster) InstallObjects(ctx context.Context, dir string) error {
	objects, err := readFolder(dir)
	if err != nil {
		return err
	}
	own, err := decode(ownObjects)
	if err != nil {
		return fmt.Errorf("read the embedded objects: %w", err)
	}
	return c.apply(ctx, append(objects, own...))
}

func (c *Cluster) apply(ctx context.Context, objects []*unstructured.Unstructured) error {
	for _, object := range objects {
		resource, ok := appliedKinds[object.GetKind()]
		if !ok {
			return fmt.Errorf("apply %s %s: not a kind this stack installs", object.GetKind(), object.GetName())
		}
		options := metav1.ApplyOptions{FieldManager: "devstack", Force: true}
		if _, err := c.client.Resource(resource).Apply(ctx, object.GetName(), object, options); err != nil {
			return fmt.Errorf("apply %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}

// WaitSettled waits until a pod could run: the nodes are ready, and the namespace default has its service account.
func (c *Cluster) WaitSettled(ctx context.Context) error {
	return poll(ctx, "a pod could run", func(ctx context.Context) bool {
		_, err := c.client.Resource(serviceAccounts).Namespace("default").Get(ctx, "default", metav1.GetOptions{})
		return err == nil && c.all(ctx, nodes, "Ready")
	})
}

func (c *Cluster) allServed(ctx context.Context) bool { return c.all(ctx, crds, "Established") }

// all says whether there are objects of the kind, and all have the condition.
func (c *Cluster) all(ctx context.Context, resource schema.GroupVersionResource, condition string) bool {
	list, err := c.client.Resource(resource).List(ctx, metav1.ListOptions{})
	if err != nil || len(list.Items) == 0 {
		return false
	}
	for _, object := range list.Items {
		if !hasCondition(object, condition) {
			return false
		}
	}
	return true
}

func poll(ctx context.Context, what string, look func(context.Context) bool) error {
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, 2*time.Minute, true,
		func(ctx context.Context) (bool, error) { return look(ctx), nil })
	if err != nil {
		return fmt.Errorf("wait until %s: %w", what, err)
	}
	return nil
}
