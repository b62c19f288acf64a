package api

import (
	"github.com/lockstep-io/lockstep/internal/documents"
	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/pkg/engine"
	"github.com/lockstep-io/lockstep/pkg/engine/mongostore"
)

// collection is the documents of one kind, and what handlers do with those of
// any kind.
type collection[D engine.Document] struct {
	*mongostore.Store[D]

	api  *api
	kind resource.Kind
}

// collections are those of all kinds.
type collections struct {
	gateways     *collection[*resource.ApiGateway]
	domains      *collection[*resource.RuntimeDomain]
	databases    *collection[*resource.Database]
	environments *collection[*resource.Environment]
	clientApps   *collection[*resource.ClientApp]
	functions    *collection[*resource.CloudFunction]
	stages       *collection[*resource.Stage]
	triggers     *collection[*resource.CronTrigger]
}

func newCollections(a *api, docs *documents.Documents) collections {
	return collections{
		gateways:     &collection[*resource.ApiGateway]{docs.ApiGateways, a, resource.KindApiGateway},
		domains:      &collection[*resource.RuntimeDomain]{docs.RuntimeDomains, a, resource.KindRuntimeDomain},
		databases:    &collection[*resource.Database]{docs.Databases, a, resource.KindDatabase},
		environments: &collection[*resource.Environment]{docs.Environments, a, resource.KindEnvironment},
		clientApps:   &collection[*resource.ClientApp]{docs.ClientApps, a, resource.KindClientApp},
		functions:    &collection[*resource.CloudFunction]{docs.CloudFunctions, a, resource.KindCloudFunction},
		stages:       &collection[*resource.Stage]{docs.Stages, a, resource.KindStage},
		triggers:     &collection[*resource.CronTrigger]{docs.CronTriggers, a, resource.KindCronTrigger},
	}
}
