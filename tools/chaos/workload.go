package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/pkg/engine"
)

// workload is the users: they make gateways, change their minds about them,
// furnish and delete them, through any replica's API and past it.
type workload struct {
	w  *world
	wg sync.WaitGroup

	turn, names  atomic.Int64
	done, failed atomic.Int64
	client       http.Client
}

func newWorkload(w *world) *workload {
	return &workload{w: w, client: http.Client{Timeout: 8 * time.Second}}
}

// users is how many act at a time, each with a pause between two acts.
const (
	users     = 4
	userPause = 900 * time.Millisecond
)

func (l *workload) run(ctx context.Context) {
	for i := range users {
		random := rand.New(rand.NewPCG(l.w.o.seed, uint64(i)+1)) //nolint:gosec // choices that can be repeated
		l.wg.Go(func() {
			for ctx.Err() == nil {
				l.act(ctx, random)
				pauseFor(ctx, time.Duration(float64(userPause)*(0.5+random.Float64())))
			}
		})
	}
}

func (l *workload) wait() { l.wg.Wait() }

// count counts an act. Those that fail during a fault are part of the game.
func (l *workload) count(err error) {
	if err != nil {
		l.failed.Add(1)
	} else {
		l.done.Add(1)
	}
}

// act does one random thing.
func (l *workload) act(ctx context.Context, random *rand.Rand) {
	alive, err := l.gateways(ctx)
	if err != nil {
		l.count(err)
		return
	}
	if len(alive) < l.w.o.gateways {
		l.count(l.create(ctx, random))
		return
	}
	id := alive[random.IntN(len(alive))]
	switch dice := random.IntN(100); {
	case dice < 38:
		l.count(l.setState(ctx, id, anyState(random)))
	case dice < 61:
		l.count(l.w.servers.want(ctx, resource.KindApiGateway, id, anyState(random)))
	case dice < 67:
		l.count(l.remove(ctx, id, random))
	case dice < 90:
		l.count(l.furnish(ctx, id, random))
	case dice < 95:
		l.count(l.w.servers.want(ctx, resource.KindRuntimeDomain, id, resource.Inactive))
	default:
		l.count(l.w.servers.removeDeployment(ctx, id))
	}
}

func anyState(random *rand.Rand) engine.State {
	return []engine.State{resource.Running, resource.Running, resource.Stopped, resource.Restarting}[random.IntN(4)]
}

// gateways are those that are not being deleted.
func (l *workload) gateways(ctx context.Context) ([]string, error) {
	docs, err := l.w.servers.headers(ctx, resource.KindApiGateway, true)
	var ids []string
	for _, d := range docs {
		if d.State != resource.Deleted {
			ids = append(ids, d.ID)
		}
	}
	return ids, err
}

func (l *workload) create(ctx context.Context, random *rand.Rand) error {
	body := map[string]any{"name": fmt.Sprintf("chaos-%d", l.names.Add(1)), "region": []string{"eu", "us"}[random.IntN(2)]}
	if random.IntN(5) == 0 {
		body["state"] = resource.Stopped
	}
	return l.call(ctx, http.MethodPost, "/v1/api-gateways", body)
}

func (l *workload) setState(ctx context.Context, id string, state engine.State) error {
	return l.call(ctx, http.MethodPatch, "/v1/api-gateways/"+id, map[string]any{"state": state})
}

func (l *workload) remove(ctx context.Context, id string, random *rand.Rand) error {
	if random.IntN(2) == 0 {
		return l.w.servers.want(ctx, resource.KindApiGateway, id, resource.Deleted)
	}
	return l.call(ctx, http.MethodDelete, "/v1/api-gateways/"+id, nil)
}

// furnish changes something below a gateway. What is refused because of what
// is there already, or is not there yet, counts as done.
func (l *workload) furnish(ctx context.Context, id string, random *rand.Rand) error {
	gateway := "/v1/api-gateways/" + id
	app := fmt.Sprintf("app%d", random.IntN(3))
	switch random.IntN(8) {
	case 0, 1:
		return l.call(ctx, http.MethodPost, gateway+"/client-apps", map[string]any{"name": app, "environment": "dev"})
	case 2:
		return l.call(ctx, http.MethodDelete, gateway+"/client-apps/dev/"+app, nil)
	case 3:
		return l.call(ctx, http.MethodPost, gateway+"/functions", map[string]any{"name": "hello", "code": "export default () => 'hello'"})
	case 4:
		return l.call(ctx, http.MethodPatch, gateway+"/stages/dev", map[string]any{
			"routes": []any{map[string]any{"path": fmt.Sprintf("/hello%d", random.IntN(9)), "function": "hello"}},
		})
	case 5:
		return l.call(ctx, http.MethodPost, gateway+"/triggers", map[string]any{"name": "nightly", "schedule": "0 3 * * *", "function": "hello"})
	case 6:
		return l.call(ctx, http.MethodPut, gateway+"/runtime-domain/custom-domain", map[string]any{"domain": "c-" + id + ".example.org"})
	default:
		return l.call(ctx, http.MethodDelete, gateway+"/runtime-domain/custom-domain", nil)
	}
}

// call makes a request of the next replica, and of the one after it if that
// does not answer.
func (l *workload) call(ctx context.Context, method, path string, body any) error {
	var err error
	for range l.w.replicas.all {
		r := l.w.replicas.all[l.turn.Add(1)%int64(len(l.w.replicas.all))]
		var refused bool
		if refused, err = l.once(ctx, r.url()+path, method, body); err == nil || refused {
			return nil
		}
	}
	return err
}

// once makes a request. It is refused if the replica says that the request
// makes no sense (any more).
func (l *workload) once(ctx context.Context, url, method string, body any) (refused bool, err error) {
	var payload io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return false, err
		}
		payload = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, url, payload)
	if err != nil {
		return false, err
	}
	req.Header.Set("Authorization", "Bearer "+l.w.replicas.token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := l.client.Do(req)
	if err != nil {
		return false, err
	}
	defer resp.Body.Close() //nolint:errcheck // read to its end below
	text, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
		return false, err
	case resp.StatusCode == http.StatusUnauthorized, resp.StatusCode == http.StatusTooManyRequests, resp.StatusCode >= 500:
		return false, fmt.Errorf("%s %s: %s: %s", method, url, resp.Status, text)
	}
	return resp.StatusCode >= http.StatusMultipleChoices, nil
}
