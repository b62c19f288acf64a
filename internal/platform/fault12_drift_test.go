package platform_test

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/lockstep-io/lockstep/internal/driver/kube"
	"github.com/lockstep-io/lockstep/internal/kind"
	"github.com/lockstep-io/lockstep/internal/resource"
)

// drift is something done to a gateway by hand, and how it looks when put
// right.
type drift struct {
	ref kube.Ref
	// patch changes it; it is removed if there is none.
	patch string
	// path is the field that the patch changes.
	path []string
}

func drifts(id string) map[string]drift {
	all := map[string]drift{}
	for name, ref := range map[string]kube.Ref{
		"Deployment":    deployment(id),
		"Service":       in(kube.Service, id, resource.InstanceName(id)),
		"ConfigMap":     in(kube.ConfigMap, id, resource.ConfigMapName(id)),
		"plugin config": in(kube.ApisixPluginConfig, id, resource.PluginConfigName(id)),
		"route":         in(kube.ApisixRoute, id, resource.EnvironmentName(id, "staging")),
		"TLS":           in(kube.ApisixTls, id, resource.TLSName(id, "staging")),
		"stage's route": in(kube.ApisixRoute, id, resource.StageRouteName(id, "dev")),
		"consumer":      in(kube.ApisixConsumer, id, resource.ConsumerName(id, "dev", "web")),
	} {
		all[name+" removed"] = drift{ref: ref}
	}
	return all
}

// changes are drifts of a second gateway: of a removed object nothing can be
// changed.
func changes(id string) map[string]drift {
	return map[string]drift{
		"Deployment scaled": {deployment(id), `{"spec":{"replicas":0}}`, []string{"spec", "replicas"}},
		"Service's ports": {in(kube.Service, id, resource.InstanceName(id)),
			`{"spec":{"ports":[{"name":"http","port":80,"targetPort":81}]}}`, []string{"spec", "ports"}},
		"ConfigMap's data": {in(kube.ConfigMap, id, resource.ConfigMapName(id)),
			`{"data":{"LOCKSTEP_REGION":"elsewhere"}}`, []string{"data"}},
		"plugin config": {in(kube.ApisixPluginConfig, id, resource.PluginConfigName(id)),
			`{"spec":{"plugins":[]}}`, []string{"spec", "plugins"}},
		"route": {in(kube.ApisixRoute, id, resource.EnvironmentName(id, "dev")),
			`{"spec":{"http":[{"name":"stolen","match":{"hosts":["stolen.example.com"],"paths":["/*"]},"backends":[{"serviceName":"x","servicePort":1}]}]}}`,
			[]string{"spec", "http"}},
		"TLS": {in(kube.ApisixTls, id, resource.TLSName(id, "prod")),
			`{"spec":{"hosts":["stolen.example.com"]}}`, []string{"spec", "hosts"}},
		"stage's route": {in(kube.ApisixRoute, id, resource.StageRouteName(id, "dev")),
			`{"spec":{"ingressClassName":"other"}}`, []string{"spec", "ingressClassName"}},
		"labels of the Deployment": {deployment(id), `{"metadata":{"labels":{"` + resource.LabelGateway + `":"other"}}}`,
			[]string{"metadata", "labels"}},
	}
}

// seen is what a drift is told by.
func (w *world) seen(d drift) string {
	w.t.Helper()
	obj := w.object(d.ref)
	if obj == nil || obj.GetDeletionTimestamp() != nil {
		return ""
	}
	if d.patch == "" {
		return "there"
	}
	value, _, err := unstructured.NestedFieldNoCopy(obj.Object, d.path...)
	must(w.t, err)
	return fmt.Sprint(value)
}

// Fault 12: drift. What was removed or changed by hand under a Started gateway
// comes back: at once by the watch's hint, and within one resync period where
// no watch tells of it (deaf).
//
// The protections: kube's OnChange hints and the resync of settled documents
// (their Resync and Steps in the definitions). Without the first, the first
// part fails; without the second, the second: both seen.
func TestDriftIsPutRight(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		deaf   bool
		within time.Duration
	}{
		"at once by the watch":             {false, kind.Resync / 2},
		"by the resync, without any watch": {true, kind.Resync + 15*time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			r := w.replica("r", func(s *settings) { s.deaf = test.deaf })
			removed, changed := w.gateway(), w.gateway()
			both := []string{removed, changed}
			w.reaches(resource.Running, resource.PhaseStarted, both...)
			w.furnish(both...)
			w.furnished(r, both...)
			// All that is done is done early in the resync's period.
			all := drifts(removed)
			for what, d := range changes(changed) {
				all[what+" changed"] = d
			}
			before := map[string]string{}
			for what, d := range all {
				if before[what] = w.seen(d); before[what] == "" {
					t.Fatalf("%s is not there", d.ref)
				}
			}
			for _, d := range all {
				if d.patch == "" {
					w.removeNow(d.ref)
				} else {
					w.patch(d.ref, d.patch)
				}
			}
			began := time.Now()
			for what, d := range all {
				awaitWithin(t, max(time.Second, test.within-time.Since(began)), what+" to be put right", func() error {
					if now := w.seen(d); now != before[what] {
						return fmt.Errorf("it is %q, was %q", now, before[what])
					}
					return nil
				})
			}
			w.reaches(resource.Running, resource.PhaseStarted, both...)
			for _, id := range both {
				w.allReady(id)
			}
		})
	}
}

// removeNow deletes an object and its identity at once.
func (w *world) removeNow(ref kube.Ref) {
	w.t.Helper()
	ctx, cancel := bounded(w.t)
	defer cancel()
	background := metav1.DeletePropagationBackground
	must(w.t, w.api(ref).Delete(ctx, ref.Name, metav1.DeleteOptions{PropagationPolicy: &background}))
}

// Spec 2: hints only save time. With no watch, and changes that nobody tells the
// replica of, the ticks still take a gateway through its life.
//
// With a service that claims only what was hinted (fetch without its tick) this
// fails: seen.
func TestWithoutAnyHint(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.replica("r", func(s *settings) { s.deaf = true })
	id := w.gateway()
	w.reaches(resource.Running, resource.PhaseStarted, id)
	w.set(resource.Stopped, id)
	w.reaches(resource.Stopped, resource.PhaseStopped, id)
	w.set(resource.Running, id)
	w.reaches(resource.Running, resource.PhaseStarted, id)
	w.set(resource.Deleted, id)
	w.gone(id)
}
