package e2e_test

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/internal/testenv"
	"github.com/lockstep-io/lockstep/pkg/engine"
)

// Wrong input at the start: the replica does not start, and says which setting
// is wrong and what to do.
func TestWrongSettings(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	broken := filepath.Join(w.folder, "broken-kubeconfig")
	must(t, os.WriteFile(broken, []byte("apiVersion: v1\nkind: Config\nclusters: {"), 0o600))
	nowhere := filepath.Join(w.folder, "nowhere-kubeconfig")
	must(t, os.WriteFile(nowhere, []byte("apiVersion: v1\nkind: Config\ncurrent-context: missing\n"), 0o600))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer listener.Close()

	for name, test := range map[string]struct {
		change func(*launch)
		says   []string
	}{
		"broken kubeconfig": {
			func(l *launch) { l.regions[0].Kubeconfig = broken },
			[]string{"kubeconfig", broken},
		},
		"kubeconfig without its context": {
			func(l *launch) { l.regions[0].Kubeconfig = nowhere },
			[]string{"kubeconfig", "missing"},
		},
		"no kubeconfig": {
			func(l *launch) { l.regions[0].Kubeconfig = "/nowhere/kubeconfig" },
			[]string{"kubeconfig", "/nowhere/kubeconfig"},
		},
		"no such flag": {
			func(l *launch) { l.args = []string{"--lock-timout", "5s"} },
			[]string{"lock-timout"},
		},
		"no duration": {
			func(l *launch) { l.args = []string{"--interval", "soon"} },
			[]string{"--interval", "LOCKSTEP_INTERVAL", "soon"},
		},
		"out of bounds": {
			func(l *launch) { l.args = []string{"--workers", "0"} },
			[]string{"--workers", "LOCKSTEP_WORKERS", "from 1 to"},
		},
		"no address of a MongoDB": {
			func(l *launch) { l.mongoURI = "postgres://secret@db" },
			[]string{"--mongodb-uri", "LOCKSTEP_MONGODB_URI", "mongodb://"},
		},
		"region without a domain": {
			func(l *launch) { l.regions[0].DomainSuffix = "" },
			[]string{"domainSuffix", "eu"},
		},
		"address in use": {
			func(l *launch) { l.args = []string{"--listen", listener.Addr().String()} },
			[]string{"--listen", "LOCKSTEP_LISTEN", "in use"},
		},
		"clock offset without testing": {
			func(l *launch) { l.args = []string{"--test-clock-offset", "10m"} },
			[]string{"--test-clock-offset", "for tests"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{t: t, db: w.db, docs: w.docs, kube: w.kube, region: w.region, folder: t.TempDir()}
			r := w.start("replica", test.change)
			if code := r.ends(); code == 0 {
				t.Error("it ended as if all were well")
			}
			logged := r.logged()
			for _, text := range test.says {
				if !strings.Contains(logged, text) {
					t.Errorf("it does not say %q: %s", text, logged)
				}
			}
			if strings.Contains(logged, "secret") || strings.Contains(logged, "goroutine") {
				t.Errorf("it says too much: %s", logged)
			}
		})
	}
}

// Wrong input by the API and by hand, once the replica runs.
func TestUnknownRegionAndTakenDomain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.region.ClusterIssuer = "test-" + testenv.RandomID(8)
	one, two := w.ready("one"), w.ready("two")

	status, answer, err := one.request(http.MethodPost, "/v1/api-gateways", map[string]any{"name": "shop", "region": "mars"})
	must(t, err)
	if status != http.StatusUnprocessableEntity || !strings.Contains(string(answer), `there is no region \"mars\": use one of eu`) {
		t.Errorf("an unknown region is answered by %d %s", status, answer)
	}
	stray := &resource.ApiGateway{
		Meta:      engine.Meta{ID: testenv.RandomID(6), State: resource.Running, Phase: resource.PhaseCreating, Generation: 1},
		Name:      "stray",
		GatewayID: "", Region: "mars",
	}
	stray.GatewayID = stray.ID
	must(t, w.docs.ApiGateways.Insert(t.Context(), stray))
	one.explains(stray.ID, `region "mars" is not configured on this replica (it has eu)`)

	// Fault 10: two gateways claim one custom domain at the same time, at
	// different replicas. One gets it; the other is told by a 409 that it is
	// taken. Without the unique index both get it: seen to fail.
	ids := []string{one.create(), two.create()}
	w.reaches(resource.Running, resource.PhaseStarted, ids...)
	domain := map[string]any{"domain": "shop-" + ids[0] + ".example.org"}
	type result struct {
		status int
		answer string
	}
	results := make(chan result, 2)
	for i, r := range []*replica{one, two} {
		go func() {
			status, answer, err := r.request(http.MethodPut, "/v1/api-gateways/"+ids[i]+"/runtime-domain/custom-domain", domain)
			if err != nil {
				answer = []byte(err.Error())
			}
			results <- result{status, string(answer)}
		}()
	}
	first, second := <-results, <-results
	if first.status > second.status {
		first, second = second, first
	}
	if first.status != http.StatusAccepted || second.status != http.StatusConflict || !strings.Contains(second.answer, "domain_taken") {
		t.Errorf("they are answered by %v and %v", first, second)
	}
	bound := 0
	for _, id := range ids {
		doc, err := w.docs.RuntimeDomains.Get(t.Context(), id)
		must(t, err)
		if doc.CustomDomain != "" {
			bound++
		}
	}
	if bound != 1 {
		t.Errorf("%d gateways have the domain", bound)
	}
}
