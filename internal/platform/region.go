package platform

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	authentication "k8s.io/client-go/kubernetes/typed/authentication/v1"

	"github.com/lockstep-io/lockstep/internal/driver/apisix"
	"github.com/lockstep-io/lockstep/internal/driver/certmanager"
	"github.com/lockstep-io/lockstep/internal/driver/kube"
	"github.com/lockstep-io/lockstep/internal/driver/mongoadmin"
	"github.com/lockstep-io/lockstep/internal/kind/apigateway"
	"github.com/lockstep-io/lockstep/internal/kind/clientapp"
	"github.com/lockstep-io/lockstep/internal/kind/runtimedomain"
	"github.com/lockstep-io/lockstep/internal/kind/stage"
	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/internal/sweep"
)

// region is a cluster with the drivers for it.
type region struct {
	settings  resource.Region
	cluster   *kube.Client
	databases *mongoadmin.Client
	apisix    *apisix.Client
	certs     *certmanager.Client
}

func newRegion(settings resource.Region, opts Options) (*region, error) {
	cluster, err := kube.New(settings, kube.Options{Log: opts.Log, WrapTransport: opts.Transport})
	if err != nil {
		return nil, fmt.Errorf("region %q: %w", settings.Name, err)
	}
	databases, err := mongoadmin.New(settings, mongoadmin.Options{})
	if err != nil {
		return nil, fmt.Errorf("region %q: %w", settings.Name, err)
	}
	return &region{
		settings: settings, cluster: cluster, databases: databases,
		apisix: apisix.New(cluster, settings), certs: certmanager.New(cluster, settings),
	}, nil
}

// regions are the regions by name.
type regions map[string]*region

func newRegions(settings []resource.Region, opts Options) (regions, error) {
	all := regions{}
	var errs []error
	for _, s := range settings {
		r, err := newRegion(s, opts)
		errs = append(errs, err)
		all[s.Name] = r
	}
	return all, errors.Join(errs...)
}

func (all regions) get(name string) (*region, error) {
	if r, ok := all[name]; ok {
		return r, nil
	}
	names := make([]string, 0, len(all))
	for n := range all {
		names = append(names, n)
	}
	slices.Sort(names)
	return nil, fmt.Errorf("region %q is not configured on this replica (it has %s): add it to the regions", name, strings.Join(names, ", "))
}

// reachAny returns nil once a region answers, and otherwise why none does.
func (all regions) reachAny(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answers := make(chan error, len(all))
	for _, r := range all {
		go func() { answers <- r.ping(ctx) }()
	}
	var errs []error
	for range all {
		err := <-answers
		if err == nil {
			return nil
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// ping returns an error if the region cannot be reached.
func (r *region) ping(ctx context.Context) error {
	if err := r.cluster.Ping(ctx); err != nil {
		return fmt.Errorf("region %q: %w", r.settings.Name, err)
	}
	if err := r.databases.Ping(ctx); err != nil {
		return fmt.Errorf("region %q: %w", r.settings.Name, err)
	}
	return nil
}

// What each kind sees of a region.

func (all regions) apigateway(name string) (apigateway.Region, error) {
	r, err := all.get(name)
	if err != nil {
		return apigateway.Region{}, err
	}
	return apigateway.Region{Settings: r.settings, Cluster: r.cluster, Databases: r.databases}, nil
}

func (all regions) runtimedomain(name string) (runtimedomain.Region, error) {
	r, err := all.get(name)
	if err != nil {
		return runtimedomain.Region{}, err
	}
	return runtimedomain.Region{Routes: r.apisix, Plugins: r.apisix, TLS: r.apisix, Certificates: r.certs}, nil
}

func (all regions) stage(name string) (stage.Region, error) {
	r, err := all.get(name)
	if err != nil {
		return stage.Region{}, err
	}
	return stage.Region{Publisher: r.databases, Routes: r.apisix}, nil
}

func (all regions) clientapp(name string) (clientapp.Consumers, error) {
	r, err := all.get(name)
	if err != nil {
		return nil, err
	}
	return r.apisix, nil
}

func (all regions) keys(name string) (clientapp.Keys, error) {
	r, err := all.get(name)
	if err != nil {
		return nil, err
	}
	return r.apisix, nil
}

// SweepRegions are the regions as the orphan sweeper sees them.
func (p *Platform) SweepRegions() []sweep.Region {
	var all []sweep.Region
	for _, r := range p.regions {
		all = append(all, sweep.Region{Name: r.settings.Name, Cluster: r.cluster, Databases: r.databases})
	}
	return all
}

// TokenReviewer reviews tokens of service accounts, by the cluster of the
// first region.
func (p *Platform) TokenReviewer() (authentication.TokenReviewInterface, error) {
	if p.first == nil {
		return nil, errors.New("there is no region whose cluster could review tokens")
	}
	return p.first.cluster.TokenReviews(), nil
}
