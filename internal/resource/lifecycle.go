package resource

import "github.com/lockstep-io/lockstep/pkg/engine"

// States: what the user wants.
const (
	Running    engine.State = "Running"
	Stopped    engine.State = "Stopped"
	Restarting engine.State = "Restarting"
	Active     engine.State = "Active"
	Inactive   engine.State = "Inactive"
	Deleted    engine.State = "Deleted"
)

// Phases: how far the system has come. An instance is "started"; a phase named
// Stopped or Deleted is distinct from the state of the same name.
const (
	PhaseCreating engine.Phase = "Creating"
	PhaseCreated  engine.Phase = "Created"
	PhaseStarting engine.Phase = "Starting"
	PhaseStarted  engine.Phase = "Started"
	PhaseStopping engine.Phase = "Stopping"
	PhaseStopped  engine.Phase = "Stopped"
	PhaseDeleting engine.Phase = "Deleting"
	PhaseDeleted  engine.Phase = "Deleted"
)

// Kind names a kind of document; it is also the name of its collection.
type Kind string

// The kinds of the gateway family.
const (
	KindApiGateway    Kind = "ApiGateway"
	KindRuntimeDomain Kind = "RuntimeDomain"
	KindDatabase      Kind = "Database"
	KindEnvironment   Kind = "Environment"
	KindClientApp     Kind = "ClientApp"
	KindCloudFunction Kind = "CloudFunction"
	KindStage         Kind = "Stage"
	KindCronTrigger   Kind = "CronTrigger"
)

// Kinds lists all kinds, the root first.
var Kinds = []Kind{
	KindApiGateway, KindRuntimeDomain, KindDatabase, KindEnvironment,
	KindClientApp, KindCloudFunction, KindStage, KindCronTrigger,
}

// States returns the states that a document of the kind can be given, and nil
// for a kind that is not known.
func States(kind Kind) []engine.State {
	switch kind {
	case KindApiGateway:
		return []engine.State{Running, Stopped, Restarting, Deleted}
	case KindRuntimeDomain, KindDatabase, KindClientApp, KindStage, KindCronTrigger:
		return []engine.State{Active, Inactive, Deleted}
	case KindEnvironment, KindCloudFunction:
		return []engine.State{Active, Deleted}
	}
	return nil
}
