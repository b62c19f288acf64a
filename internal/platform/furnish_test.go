package platform_test

import (
	"errors"
	"fmt"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/lockstep-io/lockstep/internal/driver/kube"
	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/internal/witness"
	"github.com/lockstep-io/lockstep/pkg/engine"
	"github.com/lockstep-io/lockstep/pkg/engine/mongostore"
)

func newMeta(id string) engine.Meta {
	return engine.Meta{ID: id, State: resource.Active, Phase: resource.PhaseCreating, Generation: 1}
}

// furnish gives each gateway one of everything that users make: a function, a
// stage that publishes it, a client app and a trigger.
func (w *world) furnish(ids ...string) {
	w.t.Helper()
	ctx := w.t.Context()
	for _, id := range ids {
		must(w.t, w.docs.CloudFunctions.Insert(ctx, &resource.CloudFunction{
			Meta: newMeta(id + "-hello"), GatewayID: id, Region: w.region.Name, Name: "hello", Runtime: "javascript", Code: "export {}",
		}))
		must(w.t, w.docs.ClientApps.Insert(ctx, &resource.ClientApp{
			Meta: newMeta(id + "-dev-web"), GatewayID: id, Region: w.region.Name, Environment: "dev", Name: "web",
		}))
		must(w.t, w.docs.CronTriggers.Insert(ctx, &resource.CronTrigger{
			Meta: newMeta(id + "-nightly"), GatewayID: id, Region: w.region.Name, Name: "nightly", Schedule: "0 3 * * *", Function: "hello",
		}))
		_, err := w.docs.Stages.SetIntent(ctx, resource.EnvironmentName(id, "dev"), mongostore.Intent{
			Fields: map[string]any{"routes": []resource.Route{{Path: "/hello", Methods: []string{"GET"}, Function: "hello"}}},
		})
		must(w.t, err)
	}
}

// furnished waits until what furnish has made stands.
func (w *world) furnished(r *replica, ids ...string) {
	w.t.Helper()
	for _, id := range ids {
		stage := resource.EnvironmentName(id, "dev")
		r.Hint(resource.KindStage, stage)
		await(w.t, "stage "+stage+" to be published", func() error {
			doc, err := w.docs.Stages.Get(w.t.Context(), stage)
			if err == nil && doc.PublishedGeneration != doc.Generation {
				err = errors.New(witness.Stands(&doc.Meta))
			}
			return err
		})
		for kind, child := range map[resource.Kind]string{
			resource.KindClientApp: id + "-dev-web", resource.KindCronTrigger: id + "-nightly", resource.KindCloudFunction: id + "-hello",
		} {
			await(w.t, child+" to be there", func() error {
				if h := w.header(kind, child); h.Phase != resource.PhaseCreated {
					return errors.New(witness.Stands(&h.Meta))
				}
				return nil
			})
		}
	}
}

// wholeObjects are the objects of a started gateway that was furnished.
func wholeObjects(id string) []string {
	objects := []string{
		"ConfigMap " + resource.ConfigMapName(id), "Secret " + resource.DatabaseSecretName(id),
		"Deployment " + resource.InstanceName(id), "Service " + resource.InstanceName(id),
		"ApisixPluginConfig " + resource.PluginConfigName(id), "ApisixRoute " + resource.StageRouteName(id, "dev"),
		"ApisixConsumer " + resource.ConsumerName(id, "dev", "web"), "Secret " + resource.ConsumerName(id, "dev", "web"),
	}
	for _, env := range resource.Environments {
		objects = append(objects, "ApisixRoute "+resource.EnvironmentName(id, env), "ApisixTls "+resource.TLSName(id, env))
	}
	slices.Sort(objects)
	return objects
}

// stoppedObjects are those of a stopped one: nothing that leads traffic to it
// or serves it.
func stoppedObjects(id string) []string {
	return slices.DeleteFunc(wholeObjects(id), func(name string) bool {
		return !slices.Contains([]string{
			"ConfigMap " + resource.ConfigMapName(id), "Secret " + resource.DatabaseSecretName(id),
			"ApisixConsumer " + resource.ConsumerName(id, "dev", "web"), "Secret " + resource.ConsumerName(id, "dev", "web"),
		}, name)
	})
}

// hasExactly fails unless these are the gateways' objects, no more, no fewer.
func (w *world) hasExactly(want func(id string) []string, ids ...string) {
	w.t.Helper()
	got := w.objectsOf(ids...)
	for _, id := range ids {
		if !slices.Equal(got[id], want(id)) {
			w.t.Errorf("gateway %s has the objects\n%q, want\n%q", id, got[id], want(id))
		}
	}
}

// hasOneOfEach fails unless the gateways have each of the documents that their
// steps make once.
func (w *world) hasOneOfEach(ids ...string) {
	w.t.Helper()
	for kind, want := range map[resource.Kind]int{
		resource.KindRuntimeDomain: 1, resource.KindDatabase: 1, resource.KindEnvironment: 3, resource.KindStage: 3,
	} {
		store, err := w.docs.Headers(kind)
		must(w.t, err)
		docs, err := store.Find(w.t.Context(), bson.D{})
		must(w.t, err)
		counts := map[string]int{}
		for _, doc := range docs {
			counts[doc.GatewayID]++
		}
		for _, id := range ids {
			if counts[id] != want {
				w.t.Errorf("gateway %s has %d documents of %s, want %d", id, counts[id], kind, want)
			}
		}
	}
}

// replicaSets counts the gateway's ReplicaSets that have pods.
func (w *world) replicaSets(id string) (serving int) {
	w.t.Helper()
	ctx, cancel := bounded(w.t)
	defer cancel()
	list, err := w.kube.Resource(replicaSets).Namespace(id).List(ctx, metav1.ListOptions{})
	must(w.t, err)
	for i := range list.Items {
		if n, _, _ := unstructured.NestedInt64(list.Items[i].Object, "status", "replicas"); n > 0 {
			serving++
		}
	}
	return serving
}

var replicaSets = kube.Type{Group: "apps", Version: "v1", Kind: "ReplicaSet", Resource: "replicasets", Namespaced: true}.GVR()

// issuer makes the region's ClusterIssuer, which signs at once.
func (w *world) issuer() kube.Ref {
	w.t.Helper()
	ctx, cancel := bounded(w.t)
	defer cancel()
	ref := kube.Ref{Type: clusterIssuer, Name: w.region.ClusterIssuer}
	_, err := w.api(ref).Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "cert-manager.io/v1", "kind": "ClusterIssuer",
		"metadata": map[string]any{"name": ref.Name},
		"spec":     map[string]any{"selfSigned": map[string]any{}},
	}}, metav1.CreateOptions{})
	must(w.t, err)
	w.t.Cleanup(func() {
		ctx, cancel := bounded(w.t)
		defer cancel()
		_ = w.api(ref).Delete(ctx, ref.Name, metav1.DeleteOptions{})
	})
	return ref
}

var clusterIssuer = kube.Type{Group: "cert-manager.io", Version: "v1", Kind: "ClusterIssuer", Resource: "clusterissuers"}

// bind binds a custom domain as the API does, through a replica.
func (w *world) bind(r *replica, id string, domain any) {
	w.t.Helper()
	_, err := r.docs.RuntimeDomains.SetIntent(w.t.Context(), id, mongostore.Intent{Fields: map[string]any{"customDomain": domain}})
	must(w.t, err)
	r.Hint(resource.KindRuntimeDomain, id)
}

// serves waits until the gateway serves the custom domain; empty for none.
func (w *world) serves(id, domain string) {
	w.t.Helper()
	await(w.t, fmt.Sprintf("gateway %s to serve %q", id, domain), func() error {
		doc, err := w.docs.RuntimeDomains.Get(w.t.Context(), id)
		if err != nil {
			return err
		}
		if doc.CustomDomainReady != domain || doc.WaitingFor != "" || doc.LockedBy != "" {
			return fmt.Errorf("it serves %q; %s", doc.CustomDomainReady, witness.Stands(&doc.Meta))
		}
		return nil
	})
}
