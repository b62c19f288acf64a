package e2e_test

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/internal/testenv"
	"github.com/lockstep-io/lockstep/internal/witness"
	"github.com/lockstep-io/lockstep/pkg/engine"
)

// SIGTERM: what is in hand is finished and given back, so that the next replica
// goes on at once and not after the lock timeout.
//
// With a Run that leaves its claims as they are this fails: seen.
func TestShutdownGivesBackWhatIsInHand(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.ready("first")
	var ids []string
	await(t, "the replica to have documents in hand", func() error {
		ids = append(ids, first.create(), first.create())
		for range 200 {
			if len(w.lockedBy("first")) > 0 {
				return nil
			}
		}
		return errors.New("it has none")
	})
	first.signal(syscall.SIGTERM)
	if code := first.ends(); code != 0 {
		t.Errorf("exit code %d: %s", code, tail(first.logged(), 10))
	}
	first.says("task services have ended")
	if held := w.lockedBy("first"); len(held) > 0 {
		t.Errorf("it still holds %v", held)
	}
	for _, kind := range resource.Kinds {
		store, err := w.docs.Headers(kind)
		must(t, err)
		for _, id := range ids {
			docs, err := w.docs.Left(t.Context(), kind, id)
			must(t, err)
			now, err := store.Now(t.Context())
			must(t, err)
			for _, doc := range docs {
				// What waits is due by its wait, all else at once.
				if doc.WaitingFor == "" && doc.Attempts == 0 && !doc.LockedAt.Equal(engine.Epoch) {
					t.Errorf("%s is locked until %s from now", witness.Stands(&doc.Meta), doc.LockedAt.Add(lockTimeout).Sub(now))
				}
			}
		}
	}
	w.ready("second")
	w.reaches(resource.Running, resource.PhaseStarted, ids...)
}

// A second SIGTERM ends the replica at once, whatever hangs.
func TestSecondSignalEndsAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	line, kubeconfig := testenv.KubeLine(t)
	w.region.Kubeconfig = kubeconfig
	r := w.ready("replica")
	line.Freeze()
	r.create()
	await(t, "a step to hang", func() error {
		if len(w.lockedBy("replica")) == 0 {
			return errors.New("nothing is in hand")
		}
		return nil
	})
	r.signal(syscall.SIGTERM)
	select {
	case <-r.ended:
		t.Fatal("the first signal was enough: nothing hung")
	case <-time.After(time.Second):
	}
	r.signal(syscall.SIGTERM)
	select {
	case <-r.ended:
	case <-time.After(5 * time.Second):
		t.Fatal("the second signal did not end it")
	}
	if status, ok := r.cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || !status.Signaled() || status.Signal() != syscall.SIGTERM {
		t.Errorf("it ended with %s", r.cmd.ProcessState)
	}
}

// Work that hangs beyond the grace period is cancelled and unlocked, so that the
// next replica goes on with it at once and not after the lock timeout; and the
// replica that is asked to end says at once that it is not ready, and claims
// nothing more.
//
// With a Run that does not cancel after the grace period the process does not
// end; with a release that sends nothing the documents stay locked: both seen to
// fail.
func TestGraceIsOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	direct := w.region
	line, kubeconfig := testenv.KubeLine(t)
	w.region.Kubeconfig = kubeconfig
	hanging := w.ready("hanging", func(l *launch) { l.args = append(l.args, "--grace", "4s") })
	line.Freeze()
	id := hanging.create()
	await(t, "a step to hang", func() error {
		if gw := w.get(id); gw.LockedBy != "hanging" {
			return errors.New(witness.Stands(&gw.Meta))
		}
		return nil
	})
	hanging.signal(syscall.SIGTERM)
	await(t, "it to be unready", func() error { return hanging.probe("/readyz", http.StatusServiceUnavailable) })
	must(t, hanging.probe("/healthz", http.StatusOK))
	late := hanging.create()
	if code := hanging.ends(); code != 0 {
		t.Errorf("exit code %d: %s", code, tail(hanging.logged(), 10))
	}
	if held := w.lockedBy("hanging"); len(held) > 0 {
		t.Errorf("it still holds %v", held)
	}
	if gw := w.get(id); !gw.LockedAt.Equal(engine.Epoch) {
		t.Errorf("it is not due at once: %s, locked at %s", witness.Stands(&gw.Meta), gw.LockedAt)
	}
	if gw := w.get(late); gw.LockToken != 0 {
		t.Errorf("claimed by a replica that was asked to end: %s", witness.Stands(&gw.Meta))
	}
	w.region = direct
	w.ready("next")
	w.reaches(resource.Running, resource.PhaseStarted, id, late)
}

// A replica that is asked to end lets go of its clients in order: waits that
// are open are told to wait again, elsewhere, and watches end as those do that
// have nothing more to show. It need not wait for either, though a gateway is
// not done.
//
// With an API that is not told of the end both are cut off after the server's
// patience, without a word: seen to fail.
func TestShutdownEndsWaitsAndWatches(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.ready("replica")
	id := r.create()

	watching, err := client.Get(r.url + "/v1/api-gateways/" + id + "/watch")
	must(t, err)
	defer watching.Body.Close()
	events := bufio.NewReader(watching.Body)
	if first, err := events.ReadString('\n'); err != nil || first != "event: document\n" {
		t.Fatalf("the watch begins with %q, %v", first, err)
	}
	type answer struct {
		status int
		body   []byte
		err    error
	}
	waited := make(chan answer, 1)
	asked := make(chan struct{})
	trace := &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { close(asked) }}
	request, err := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), trace), http.MethodGet,
		r.url+"/v1/api-gateways/"+id+"?wait=gone&timeout=10m", http.NoBody)
	must(t, err)
	go func() {
		response, err := client.Do(request)
		if err != nil {
			waited <- answer{err: err}
			return
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		waited <- answer{response.StatusCode, body, err}
	}()
	<-asked
	// What was asked first is answered first, or is being looked at by then.
	must(t, r.probe("/v1/api-gateways/"+id, http.StatusOK))

	r.signal(syscall.SIGTERM)
	if got := <-waited; got.err != nil || got.status != http.StatusServiceUnavailable || !strings.Contains(string(got.body), "wait again") {
		t.Errorf("the wait: %d %s, %v", got.status, got.body, got.err)
	}
	if _, err := io.Copy(io.Discard, events); err != nil {
		t.Errorf("the watch was cut off: %v", err)
	}
	if code := r.ends(); code != 0 {
		t.Errorf("exit code %d: %s", code, tail(r.logged(), 10))
	}
}
