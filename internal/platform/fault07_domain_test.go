package platform_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/lockstep-io/lockstep/internal/driver/kube"
	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/internal/witness"
)

// defaults are the routes of a gateway's own hosts, with their identities.
func (w *world) defaults(id string) map[string]string {
	w.t.Helper()
	uids := map[string]string{}
	for _, env := range resource.Environments {
		for _, ref := range []kube.Ref{
			in(kube.ApisixRoute, id, resource.EnvironmentName(id, env)), in(kube.ApisixTls, id, resource.TLSName(id, env)),
		} {
			uids[ref.String()] = w.uid(ref)
		}
	}
	return uids
}

// unchanged is an error if one of the default routes is not the one it was.
func (w *world) unchanged(id string, before map[string]string) error {
	w.t.Helper()
	for ref, uid := range w.defaults(id) {
		if uid == "" || uid != before[ref] {
			return fmt.Errorf("%s was %s, is %q", ref, before[ref], uid)
		}
	}
	return nil
}

// customHosts are the hosts of the custom domain's route.
func (w *world) customHosts(id string) []string {
	w.t.Helper()
	route := w.object(in(kube.ApisixRoute, id, resource.CustomDomainName(id)))
	if route == nil {
		return nil
	}
	rules, _, _ := unstructured.NestedSlice(route.Object, "spec", "http")
	var hosts []string
	for _, r := range rules {
		found, _, _ := unstructured.NestedStringSlice(r.(map[string]any), "match", "hosts")
		hosts = append(hosts, found...)
	}
	return hosts
}

// waitsForCertificate waits until the domain says so.
func (w *world) waitsForCertificate(id string) {
	w.t.Helper()
	await(w.t, "the domain of "+id+" to wait for its certificate", func() error {
		h := w.header(resource.KindRuntimeDomain, id)
		if !strings.Contains(h.WaitingFor, "certificate") || h.Phase != resource.PhaseCreated {
			return errors.New(witness.Stands(&h.Meta))
		}
		return nil
	})
}

// Fault 7: a custom domain bind that removes the working default route until a
// certificate arrives, or never does. Here the issuer does not exist: the
// domain waits, and says for what; the default routes are the very objects they
// were; the gateway can be stopped and started meanwhile; unbinding leaves no
// trace. Then the issuer is there, and the domain is served beside the defaults.
// Bound to another domain whose certificate does not come, the old one is
// served on, until it does.
//
// The protection is in the order of runtimedomain's Keep steps, and that the
// custom domain has a route of its own. With the custom route before the
// certificate, or the certificate among the steps of Up, this fails: seen.
func TestCustomDomainTakesNothingAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.replica("r")
	id := w.gateway()
	w.reaches(resource.Running, resource.PhaseStarted, id)
	before := w.defaults(id)
	first, second := "a-"+id+".example.org", "b-"+id+".example.org"

	w.bind(r, id, first)
	w.waitsForCertificate(id)
	holds(t, 3*time.Second, "without a certificate", func() error {
		if hosts := w.customHosts(id); hosts != nil {
			return fmt.Errorf("there is a route for %v", hosts)
		}
		return w.unchanged(id, before)
	})
	r.set(resource.Stopped, id)
	w.reaches(resource.Stopped, resource.PhaseStopped, id)
	r.set(resource.Running, id)
	w.reaches(resource.Running, resource.PhaseStarted, id)
	before = w.defaults(id)
	w.waitsForCertificate(id)

	w.bind(r, id, nil)
	w.serves(id, "")
	await(t, "the unbound domain to leave no trace", func() error {
		if got := w.objectsOf(id)[id]; slices.ContainsFunc(got, func(o string) bool {
			return strings.Contains(o, "custom")
		}) {
			return fmt.Errorf("%q", got)
		}
		return nil
	})
	must(t, w.unchanged(id, before))

	issuer := w.issuer()
	w.bind(r, id, first)
	w.serves(id, first)
	must(t, w.unchanged(id, before))

	w.remove(issuer)
	w.bind(r, id, second)
	w.waitsForCertificate(id)
	holds(t, 3*time.Second, "while the second domain has no certificate", func() error {
		if hosts := w.customHosts(id); !slices.Equal(hosts, []string{first}) {
			return fmt.Errorf("the custom route leads from %v", hosts)
		}
		return w.unchanged(id, before)
	})
	if doc, err := w.docs.RuntimeDomains.Get(t.Context(), id); err != nil || doc.CustomDomainReady != first {
		t.Errorf("it says that %q is served (%v)", doc.CustomDomainReady, err)
	}
	w.issuer()
	w.serves(id, second)
	if hosts := w.customHosts(id); !slices.Equal(hosts, []string{second}) {
		t.Errorf("the custom route leads from %v", hosts)
	}
	must(t, w.unchanged(id, before))
	w.bind(r, id, nil)
	w.serves(id, "")
	must(t, w.unchanged(id, before))
	r.set(resource.Deleted, id)
	w.gone(id)
}
