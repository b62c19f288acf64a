package stack

import (
	"context"
	"sync"
	"time"
)

// Status is how a component fares.
type Status struct {
	Component string
	PID       int    // 0 when down
	State     string // up, not ready, paused or down
	Address   string
	Since     time.Time
}

// Status looks at every component once.
func (s *Stack) Status(ctx context.Context) []Status {
	components := s.components()
	all := make([]Status, len(components))
	var wait sync.WaitGroup
	for i, c := range components {
		wait.Go(func() { all[i] = s.statusOf(ctx, c) })
	}
	wait.Wait()
	return all
}

func (s *Stack) statusOf(ctx context.Context, c component) Status {
	status := Status{Component: c.name, State: "down", Address: s.addr(c.port)}
	running := s.processesOf(c.name)
	if len(running) == 0 {
		return status
	}
	status.PID, status.Since = running[0].PID, running[0].Since
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	switch {
	case running[0].Stopped:
		status.State = "paused"
	case c.ready(ctx) != nil:
		status.State = "not ready"
	default:
		status.State = "up"
	}
	return status
}
