package main

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/lockstep-io/lockstep/internal/driver/kube"
	"github.com/lockstep-io/lockstep/internal/resource"
)

// audit watches all objects that replicas make, and sees every token that was
// ever put on one: those must not go down.
type audit struct {
	servers *servers
	wg      sync.WaitGroup

	mu         sync.Mutex
	tokens     map[mark]int64 // newest, by object and owner
	removing   map[string]mark
	atRemoval  map[string]int64 // newest when the removal began, by UID
	events     int
	gaps       int
	violations []string
}

// mark is an object, and the document that owns it.
type mark struct{ uid, owner string }

func newAudit(s *servers) *audit {
	return &audit{servers: s, tokens: map[mark]int64{}, removing: map[string]mark{}, atRemoval: map[string]int64{}}
}

// watch watches until ctx ends.
func (a *audit) watch(ctx context.Context) {
	for _, typ := range kube.Types {
		a.wg.Go(func() { a.watchKind(ctx, typ.GVR()) })
	}
}

func (a *audit) wait() { a.wg.Wait() }

// watchKind follows one kind from version to version, so that nothing is
// missed while the API server is away. Where its history has been compacted
// meanwhile, there is a gap, which is counted.
func (a *audit) watchKind(ctx context.Context, kind schema.GroupVersionResource) {
	api := a.servers.kube.Resource(kind)
	version := ""
	for ; ctx.Err() == nil; pauseFor(ctx, 300*time.Millisecond) {
		if version == "" {
			list, err := api.List(ctx, metav1.ListOptions{LabelSelector: ours})
			if err != nil {
				continue
			}
			version = list.GetResourceVersion()
			for i := range list.Items {
				a.see(kind, &list.Items[i], false)
			}
		}
		w, err := api.Watch(ctx, metav1.ListOptions{LabelSelector: ours, ResourceVersion: version, AllowWatchBookmarks: true})
		if err == nil {
			version = a.follow(kind, w, version)
		} else if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
			version = ""
		}
		if version == "" {
			a.mu.Lock()
			a.gaps++
			a.mu.Unlock()
		}
	}
}

// follow takes in what a watch tells, and returns the version to go on from.
func (a *audit) follow(kind schema.GroupVersionResource, w watch.Interface, version string) string {
	defer w.Stop()
	for event := range w.ResultChan() {
		o, ok := event.Object.(*unstructured.Unstructured)
		if !ok || event.Type == watch.Error {
			if err := apierrors.FromObject(event.Object); apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
				return ""
			}
			return version
		}
		version = o.GetResourceVersion()
		if event.Type != watch.Bookmark {
			a.see(kind, o, event.Type == watch.Deleted)
		}
	}
	return version
}

// see takes in one state of an object.
func (a *audit) see(kind schema.GroupVersionResource, o *unstructured.Unstructured, gone bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.events++
	notes := o.GetAnnotations()
	token, err := strconv.ParseInt(notes[resource.AnnotationToken], 10, 64)
	if err != nil {
		return
	}
	at := mark{string(o.GetUID()), o.GetLabels()[resource.LabelKind] + "/" + notes[resource.AnnotationOwner]}
	if newest := a.tokens[at]; token < newest {
		a.violations = append(a.violations, fmt.Sprintf("%s %s/%s of %s: token %d was written over token %d",
			kind.Resource, o.GetNamespace(), o.GetName(), at.owner, token, newest))
	}
	a.tokens[at] = max(a.tokens[at], token)
	if _, known := a.atRemoval[at.uid]; !known && (gone || o.GetDeletionTimestamp() != nil) {
		a.removing[at.uid], a.atRemoval[at.uid] = at, token
	}
}

// removed is the owner and newest token of an object when its removal began.
func (a *audit) removed(uid string) (owner string, token int64, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	token, ok = a.atRemoval[uid]
	return a.removing[uid].owner, token, ok
}

// pauseFor waits, unless ctx ends before.
func pauseFor(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
