// Package crontrigger is the kind of a schedule. It is Active while its
// gateway is started, and Inactive while it is stopped or the user has
// suspended it; a trigger that is not Created does not fire.
package crontrigger

import (
	"github.com/lockstep-io/lockstep/internal/kind"
	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/pkg/engine"
)

// Definition is the lifecycle of a CronTrigger.
func Definition() *engine.Definition[*resource.CronTrigger] {
	return kind.Toggle[*resource.CronTrigger]{Kind: resource.KindCronTrigger}.Definition()
}
