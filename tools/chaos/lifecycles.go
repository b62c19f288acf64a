package main

import (
	"github.com/lockstep-io/lockstep/internal/kind/apigateway"
	"github.com/lockstep-io/lockstep/internal/kind/clientapp"
	"github.com/lockstep-io/lockstep/internal/kind/cloudfunction"
	"github.com/lockstep-io/lockstep/internal/kind/crontrigger"
	"github.com/lockstep-io/lockstep/internal/kind/runtimedomain"
	"github.com/lockstep-io/lockstep/internal/kind/stage"
	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/pkg/engine"
)

// edge is a change of phase.
type edge struct{ from, to engine.Phase }

// lifecycle is what a kind's definition allows.
type lifecycle struct {
	edges   map[edge]bool
	settled map[engine.Match]bool
}

func (l lifecycle) rests(m *engine.Meta) bool {
	return l.settled[engine.Match{State: m.State, Phase: m.Phase}]
}

// lifecycles are those of the kinds that have a task service.
var lifecycles = map[resource.Kind]lifecycle{
	resource.KindApiGateway:    lifecycleOf(apigateway.Definition(&apigateway.Steps{})),
	resource.KindRuntimeDomain: lifecycleOf(runtimedomain.Definition(&runtimedomain.Steps{})),
	resource.KindClientApp:     lifecycleOf(clientapp.Definition(&clientapp.Steps{})),
	resource.KindStage:         lifecycleOf(stage.Definition(&stage.Steps{})),
	resource.KindCloudFunction: lifecycleOf(cloudfunction.Definition()),
	resource.KindCronTrigger:   lifecycleOf(crontrigger.Definition()),
}

func lifecycleOf[D engine.Document](def *engine.Definition[D]) lifecycle {
	l := lifecycle{edges: map[edge]bool{}, settled: map[engine.Match]bool{}}
	for _, t := range def.Transitions {
		for _, from := range t.From {
			l.edges[edge{from, t.To}] = true
		}
	}
	for _, s := range def.Settled {
		l.settled[engine.Match{State: s.State, Phase: s.Phase}] = true
	}
	return l
}
