package main

import (
	"context"

	"github.com/lockstep-io/lockstep/internal/kind/apigateway"
	"github.com/lockstep-io/lockstep/internal/kind/clientapp"
	"github.com/lockstep-io/lockstep/internal/kind/runtimedomain"
	"github.com/lockstep-io/lockstep/internal/kind/stage"
	"github.com/lockstep-io/lockstep/internal/resource"
)

// instant is a region whose drivers answer at once: what is asked for is there,
// and what is to go is gone.
type instant struct{}

// What each kind sees of it.

func (d instant) gateways(string) (apigateway.Region, error) {
	return apigateway.Region{Settings: resource.Region{Name: regionName, DomainSuffix: "example.com"}, Cluster: d, Databases: d}, nil
}

func (d instant) domains(string) (runtimedomain.Region, error) {
	return runtimedomain.Region{Routes: d, Plugins: d, TLS: d, Certificates: d}, nil
}

func (d instant) stages(string) (stage.Region, error) {
	return stage.Region{Publisher: d, Routes: d}, nil
}

func (d instant) consumers(string) (clientapp.Consumers, error) { return d, nil }

const regionName = "bench"

type (
	owner = resource.Owner
	ctx   = context.Context
)

func (instant) EnsureNamespace(ctx, owner) (string, error)                    { return "", nil }
func (instant) RemoveNamespace(ctx, owner) (string, error)                    { return "", nil }
func (instant) EnsureConfigMap(ctx, owner, map[string]string) (string, error) { return "", nil }
func (instant) RemoveConfigMap(ctx, owner) (string, error)                    { return "", nil }
func (instant) EnsureSecret(_ ctx, _ owner, _, _ string, generate func() map[string][]byte) (map[string][]byte, string, error) {
	return generate(), "", nil
}
func (instant) RemoveSecret(ctx, owner, string, string) (string, error) { return "", nil }
func (instant) EnsureInstance(ctx, owner, *resource.ApiGateway, map[string]string) (string, error) {
	return "", nil
}
func (instant) InstanceReady(ctx, *resource.ApiGateway, map[string]string) (string, error) {
	return "", nil
}
func (instant) RemoveInstance(ctx, owner) (string, error) { return "", nil }

func (instant) EnsureDatabase(ctx, owner, string, string, string) (string, error) { return "", nil }
func (instant) RemoveDatabase(ctx, owner, string, string) (string, error)         { return "", nil }
func (instant) RuntimeURI(database, _, _ string) string                           { return "mongodb://example.com/" + database }
func (instant) EnsureEnvironmentRoute(ctx, owner, string) (string, error)         { return "", nil }
func (instant) RemoveEnvironmentRoute(ctx, owner, string) (string, error)         { return "", nil }
func (instant) EnsureCustomRoute(ctx, owner, string) (string, error)              { return "", nil }
func (instant) RemoveCustomRoute(ctx, owner) (string, error)                      { return "", nil }
func (instant) EnsurePluginConfig(ctx, owner) (string, error)                     { return "", nil }
func (instant) RemovePluginConfig(ctx, owner) (string, error)                     { return "", nil }
func (instant) EnsureTLS(ctx, owner, string) (string, error)                      { return "", nil }
func (instant) RemoveTLS(ctx, owner, string) (string, error)                      { return "", nil }
func (instant) EnsureCustomTLS(ctx, owner, string) (string, error)                { return "", nil }
func (instant) RemoveCustomTLS(ctx, owner) (string, error)                        { return "", nil }
func (instant) EnsureCertificate(ctx, owner, string) (string, error)              { return "", nil }
func (instant) RemoveCertificate(ctx, owner) (string, error)                      { return "", nil }
func (instant) EnsureConsumer(ctx, owner, string, string) (string, error)         { return "", nil }
func (instant) RemoveConsumer(ctx, owner, string, string) (string, error)         { return "", nil }
func (instant) RemoveStageRoutes(ctx, owner, string) (string, error)              { return "", nil }
func (instant) RemoveFunctions(ctx, owner, string, string) (string, error)        { return "", nil }
func (instant) EnsureStageRoutes(ctx, owner, string, []string, []resource.Route) (string, error) {
	return "", nil
}
func (instant) KeepFunctions(_ ctx, _ owner, _, _ string, _ int64, _ []resource.CloudFunction) (bool, error) {
	return false, nil
}
func (instant) PublishFunctions(ctx, owner, string, string, int64, []resource.CloudFunction) (string, error) {
	return "", nil
}
