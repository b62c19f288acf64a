package e2e_test

import (
	"errors"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/internal/testenv"
	"github.com/lockstep-io/lockstep/internal/witness"
)

func through(uri string) func(*launch) { return func(l *launch) { l.mongoURI = uri } }

// A MongoDB that is not there when the replica starts: it says so in its log,
// is alive and not ready, ends in order when asked to, and otherwise goes on as
// soon as MongoDB is there.
func TestMongoDBAwayAtTheStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	dead := "mongodb://" + listener.Addr().String() + "/?directConnection=true"
	must(t, listener.Close())

	hopeless := w.start("hopeless", through(dead))
	hopeless.listens()
	hopeless.says("database not ready; trying again", "connection refused")
	must(t, hopeless.probe("/healthz", http.StatusOK))
	must(t, hopeless.probe("/readyz", http.StatusServiceUnavailable))
	hopeless.says("not ready", "connection refused")
	hopeless.signal(syscall.SIGTERM)
	if code := hopeless.ends(); code != 0 {
		t.Errorf("exit code %d: %s", code, hopeless.logged())
	}

	line, uri := testenv.MongoLine(t, testenv.MongoURI(t))
	line.Cut()
	r := w.start("hopeful", through(uri))
	r.listens()
	r.says("database not ready; trying again")
	must(t, r.probe("/readyz", http.StatusServiceUnavailable))
	line.Mend()
	await(t, "the replica to be ready", func() error { return r.probe("/readyz", http.StatusOK) })
	id := r.create()
	w.reaches(resource.Running, resource.PhaseStarted, id)
}

// A MongoDB that goes away while gateways are created, once by broken
// connections and once in silence: the replica is alive, not ready, and says
// why; its API says that nothing is lost; and then everything goes on.
func TestMongoDBGoesAway(t *testing.T) {
	t.Parallel()
	for name, disturb := range map[string]func(*testenv.Line){
		"broken connections": (*testenv.Line).Cut,
		"silence":            (*testenv.Line).Freeze,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			line, uri := testenv.MongoLine(t, testenv.MongoURI(t))
			r := w.ready("replica", through(uri))
			ids := []string{r.create(), r.create()}
			await(t, "the gateways to be under way", func() error {
				for _, id := range ids {
					if gw := w.get(id); gw.LockToken == 0 {
						return errors.New(witness.Stands(&gw.Meta))
					}
				}
				return nil
			})
			disturb(line)
			must(t, r.probe("/healthz", http.StatusOK))
			must(t, r.probe("/readyz", http.StatusServiceUnavailable))
			r.says("not ready", "the database cannot be reached")
			status, answer, err := r.request(http.MethodPatch, "/v1/api-gateways/"+ids[0], map[string]any{"state": resource.Stopped})
			must(t, err)
			if status != http.StatusServiceUnavailable || !strings.Contains(string(answer), "nothing is lost") {
				t.Errorf("the API answers %d %s", status, answer)
			}
			if r.hasEnded() {
				t.Fatal("the replica has ended")
			}
			line.Mend()
			await(t, "the replica to be ready again", func() error { return r.probe("/readyz", http.StatusOK) })
			w.reaches(resource.Running, resource.PhaseStarted, ids[1])
			r.set(resource.Deleted, ids...)
			w.gone(ids...)
		})
	}
}
