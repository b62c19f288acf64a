package kube

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/metadata/metadatainformer"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/lockstep-io/lockstep/internal/resource"
)

// syncTimeout bounds how long Start waits for the first complete list.
const syncTimeout = 30 * time.Second

// managed selects what the drivers have made.
const managed = resource.LabelManagedBy + "=" + resource.ManagedBy

// cache holds the managed objects of a cluster, kept up to date by watches.
type cache struct {
	client    *Client
	objects   dynamicinformer.DynamicSharedInformerFactory
	metadata  metadatainformer.SharedInformerFactory
	informers map[Type]toolscache.SharedIndexInformer

	mu   sync.Mutex
	hear []func(resource.Kind, string)
	stop chan struct{}
}

func newCache(c *Client) *cache {
	selected := func(o *v1.ListOptions) { o.LabelSelector = managed }
	k := &cache{
		client:    c,
		objects:   dynamicinformer.NewFilteredDynamicSharedInformerFactory(c.dynamic, 0, v1.NamespaceAll, selected),
		metadata:  metadatainformer.NewFilteredSharedInformerFactory(c.metadata, 0, v1.NamespaceAll, selected),
		informers: make(map[Type]toolscache.SharedIndexInformer),
	}
	for _, t := range Types {
		k.add(t)
	}
	return k
}

// add prepares the informer of a type: its metadata alone where no one needs
// more.
func (k *cache) add(t Type) {
	// Asking a factory for an informer makes it watch: only one may be asked.
	if unread[t] {
		k.informers[t] = k.metadata.ForResource(t.GVR()).Informer()
	} else {
		k.informers[t] = k.objects.ForResource(t.GVR()).Informer()
	}
	// These fail only on an informer that has been started.
	_ = k.informers[t].SetTransform(strip)
	_ = k.informers[t].SetWatchErrorHandlerWithContext(func(_ context.Context, _ *toolscache.Reflector, err error) {
		k.client.log.Warn("watching failed, trying again", zap.String("resource", t.Resource), zap.Error(err))
	})
	_, _ = k.informers[t].AddEventHandler(toolscache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, initial bool) {
			// What was there at the start is for the resync to look at.
			if !initial {
				k.tell(obj)
			}
		},
		UpdateFunc: func(before, after any) {
			if changed(before, after) {
				k.tell(after)
			}
		},
		DeleteFunc: func(obj any) {
			if last, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
				obj = last.Obj
			}
			k.tell(obj)
		},
	})
}

// strip drops what the cache never needs, before it is stored.
func strip(obj any) (any, error) {
	if m, err := meta.Accessor(obj); err == nil {
		m.SetManagedFields(nil)
	}
	return obj, nil
}

// OnChange registers a function that is told whenever a managed object was
// added, changed or deleted: the kind and _id of the document that owns it. It
// is a hint, no more: events can be lost, and come twice. Register before
// Start; the function must not block.
func (c *Client) OnChange(hear func(kind resource.Kind, ownerID string)) {
	c.cache.mu.Lock()
	defer c.cache.mu.Unlock()
	c.cache.hear = append(c.cache.hear, hear)
}

func (k *cache) tell(obj any) {
	m, err := meta.Accessor(obj)
	if err != nil {
		return
	}
	kind, id := m.GetLabels()[resource.LabelKind], m.GetAnnotations()[resource.AnnotationOwner]
	if kind == "" || id == "" {
		return
	}
	k.mu.Lock()
	hear := k.hear
	k.mu.Unlock()
	for _, f := range hear {
		f(resource.Kind(kind), id)
	}
}

// Start begins to watch, and waits until everything has been listed once. An
// error names what has not been: the watches go on trying nevertheless, and
// until they succeed Observe asks the API server.
func (c *Client) Start(ctx context.Context) error {
	k := c.cache
	k.mu.Lock()
	if k.stop != nil {
		k.mu.Unlock()
		return errors.New("kube: Start was called twice")
	}
	k.stop = make(chan struct{})
	k.mu.Unlock()
	k.objects.Start(k.stop)
	k.metadata.Start(k.stop)
	return k.wait(ctx)
}

func (k *cache) wait(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, syncTimeout)
	defer cancel()
	var missing []string
	for _, t := range Types {
		if !toolscache.WaitForCacheSync(ctx.Done(), k.informers[t].HasSynced) {
			missing = append(missing, t.Resource)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("region %q: could not list %s in time: is the cluster reachable, are the CRDs installed, "+
			"and may the service list and watch them?", k.client.region, strings.Join(missing, ", "))
	}
	return nil
}

// Stop ends the watches and closes idle connections; it returns when all
// goroutines have ended. A client that was not started can be stopped too.
func (c *Client) Stop() {
	k := c.cache
	k.mu.Lock()
	if k.stop != nil {
		close(k.stop)
		k.stop = nil
	}
	k.mu.Unlock()
	k.objects.Shutdown()
	k.metadata.Shutdown()
	utilnet.CloseIdleConnectionsFor(c.transport)
}

// Observe returns the object as last seen by the watch, which may be a moment
// old, and must not be modified. If the watch does not know it, or has not
// listed its type yet, the API server is asked: nil means what it means for
// [Client.Get].
func (c *Client) Observe(ctx context.Context, ref Ref) (*unstructured.Unstructured, error) {
	informer := c.cache.informers[ref.Type]
	if informer == nil || unread[ref.Type] || !informer.HasSynced() {
		return c.Get(ctx, ref)
	}
	key := ref.Name
	if ref.Type.Namespaced {
		key = ref.Namespace + "/" + ref.Name
	}
	found, ok, err := informer.GetStore().GetByKey(key)
	if obj, is := found.(*unstructured.Unstructured); err == nil && ok && is {
		return obj, nil
	}
	return c.Get(ctx, ref)
}
