package api

import (
	"context"
	"net/http"
	"strings"

	"github.com/lockstep-io/lockstep/internal/resource"
)

// Region is what users may know of a region.
type Region struct {
	Name            string `json:"name"`
	DomainSuffix    string `json:"domainSuffix" doc:"Gateways get their hosts under it."`
	TLS             bool   `json:"tls" doc:"Whether the hosts are served by HTTPS."`
	RuntimeImage    string `json:"runtimeImage" doc:"The default image of gateways."`
	RuntimeReplicas int32  `json:"runtimeReplicas" doc:"The default number of replicas."`
}

// PublicRegion leaves out of a region what is secret or of no use to users.
func PublicRegion(r resource.Region) Region {
	return Region{
		Name: r.Name, DomainSuffix: r.DomainSuffix, TLS: r.TLS,
		RuntimeImage: r.RuntimeImage, RuntimeReplicas: r.RuntimeReplicas,
	}
}

type regionsOutput struct {
	Body struct {
		Items []Region `json:"items" nullable:"false"`
	}
}

func (a *api) regionRoutes() {
	register(a, operation{
		method: http.MethodGet, path: "/v1/regions", id: "listRegions", tag: "Regions", role: Viewer,
		summary: "List the regions in which gateways can be made",
	}, func(context.Context, *struct{}) (*regionsOutput, error) {
		out := &regionsOutput{}
		out.Body.Items = append([]Region{}, a.Regions...)
		return out, nil
	})
}

func (a *api) regionNames() string {
	return strings.Join(sortedKeys(a.regions), ", ")
}
