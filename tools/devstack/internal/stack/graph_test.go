package stack

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestStepsRunInOrder(t *testing.T) {
	var mu sync.Mutex
	var order []string
	note := func(name string, after ...string) step {
		return step{name: name, after: after, run: func(context.Context, func(string)) error {
			mu.Lock()
			defer mu.Unlock()
			order = append(order, name)
			return nil
		}}
	}
	var out strings.Builder
	steps := []step{note("roof", "walls"), note("walls", "ground", "not among the steps"), note("ground")}
	if err := runSteps(t.Context(), &out, steps); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(order, " "); got != "ground walls roof" {
		t.Errorf("order: %s", got)
	}
}

func TestFailedStepStopsTheRest(t *testing.T) {
	var out strings.Builder
	err := runSteps(t.Context(), &out, []step{
		{name: "ground", run: func(context.Context, func(string)) error { return errors.New("swamp") }},
		{name: "walls", after: []string{"ground"}, run: func(context.Context, func(string)) error {
			t.Error("walls were built on a swamp")
			return nil
		}},
	})
	if err == nil || err.Error() != "ground: swamp" {
		t.Errorf("error: %v", err)
	}
}

func TestLongStepIsHeardOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		err := runSteps(t.Context(), &out, []step{{name: "fetch", run: func(_ context.Context, say func(string)) error {
			say("half of it")
			time.Sleep(2*heartbeat + time.Second)
			say("all of it")
			return nil
		}}})
		if err != nil {
			t.Fatal(err)
		}
		if strings.Count(out.String(), "... half of it") != 2 || !strings.Contains(out.String(), "all of it") {
			t.Errorf("output:\n%s", out.String())
		}
	})
}
