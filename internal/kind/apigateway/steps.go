// Package apigateway is the kind of the gateway itself: its namespace, its
// database, its instance, and the order in which its children come and go.
package apigateway

import (
	"context"
	"errors"
	"fmt"

	"github.com/lockstep-io/lockstep/internal/kind"
	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/pkg/engine"
)

// Cluster is what the gateway needs of its region's Kubernetes.
type Cluster interface {
	Namespaces
	Configuration
	Instances
}

// Namespaces makes and removes the gateway's namespace.
type Namespaces interface {
	EnsureNamespace(ctx context.Context, owner resource.Owner) (waiting string, err error)
	RemoveNamespace(ctx context.Context, owner resource.Owner) (waiting string, err error)
}

// Configuration keeps what the instance reads: settings, and credentials.
type Configuration interface {
	EnsureConfigMap(ctx context.Context, owner resource.Owner, data map[string]string) (waiting string, err error)
	RemoveConfigMap(ctx context.Context, owner resource.Owner) (waiting string, err error)
	EnsureSecret(ctx context.Context, owner resource.Owner, namespace, name string, generate func() map[string][]byte) (data map[string][]byte, waiting string, err error)
	RemoveSecret(ctx context.Context, owner resource.Owner, namespace, name string) (waiting string, err error)
}

// Instances runs the gateway's pods.
type Instances interface {
	EnsureInstance(ctx context.Context, owner resource.Owner, gw *resource.ApiGateway, config map[string]string) (waiting string, err error)
	InstanceReady(ctx context.Context, gw *resource.ApiGateway, config map[string]string) (waiting string, err error)
	RemoveInstance(ctx context.Context, owner resource.Owner) (waiting string, err error)
}

// Databases makes the gateway's own database on its region's server.
type Databases interface {
	EnsureDatabase(ctx context.Context, owner resource.Owner, database, user, password string) (waiting string, err error)
	RemoveDatabase(ctx context.Context, owner resource.Owner, database, user string) (waiting string, err error)
	RuntimeURI(database, user, password string) string
}

// Region is where a gateway lives.
type Region struct {
	Settings  resource.Region
	Cluster   Cluster
	Databases Databases
}

// Children are the documents below a gateway.
type Children interface {
	kind.Documents
	EnsureRuntimeDomain(ctx context.Context, doc *resource.RuntimeDomain) error
	EnsureDatabase(ctx context.Context, doc *resource.Database) error
	EnsureEnvironment(ctx context.Context, doc *resource.Environment) error
	EnsureStage(ctx context.Context, doc *resource.Stage) error
	// RemoveLeaf removes documents of a kind that has no task service.
	RemoveLeaf(ctx context.Context, k resource.Kind, gatewayID string) error
}

// Steps are what the transitions of a gateway do.
type Steps struct {
	Children Children
	// Region returns the region of that name, or an error if it is not
	// configured.
	Region func(name string) (Region, error)
	// Password returns a new random password.
	Password func() string
}

func (s *Steps) owner(ctx context.Context, gw *resource.ApiGateway) resource.Owner {
	return kind.Owner(ctx, resource.KindApiGateway, gw.GatewayID)
}

// inRegion calls f with the gateway's region.
func (s *Steps) inRegion(gw *resource.ApiGateway, f func(r Region) (string, error)) (engine.Outcome, error) {
	region, err := s.Region(gw.Region)
	if err != nil {
		return engine.Outcome{}, err
	}
	return kind.Observed(f(region))
}

func (s *Steps) ensureNamespace(ctx context.Context, gw *resource.ApiGateway) (engine.Outcome, error) {
	return s.inRegion(gw, func(r Region) (string, error) {
		return r.Cluster.EnsureNamespace(ctx, s.owner(ctx, gw))
	})
}

func (s *Steps) removeNamespace(ctx context.Context, gw *resource.ApiGateway) (engine.Outcome, error) {
	return s.inRegion(gw, func(r Region) (string, error) {
		return r.Cluster.RemoveNamespace(ctx, s.owner(ctx, gw))
	})
}

func (s *Steps) ensureConfigMap(ctx context.Context, gw *resource.ApiGateway) (engine.Outcome, error) {
	return s.inRegion(gw, func(r Region) (string, error) {
		return r.Cluster.EnsureConfigMap(ctx, s.owner(ctx, gw), config(gw))
	})
}

func (s *Steps) removeConfigMap(ctx context.Context, gw *resource.ApiGateway) (engine.Outcome, error) {
	return s.inRegion(gw, func(r Region) (string, error) {
		return r.Cluster.RemoveConfigMap(ctx, s.owner(ctx, gw))
	})
}

func (s *Steps) ensureInstance(ctx context.Context, gw *resource.ApiGateway) (engine.Outcome, error) {
	return s.inRegion(gw, func(r Region) (string, error) {
		return r.Cluster.EnsureInstance(ctx, s.owner(ctx, gw), gw, config(gw))
	})
}

func (s *Steps) podsReady(ctx context.Context, gw *resource.ApiGateway) (engine.Outcome, error) {
	return s.inRegion(gw, func(r Region) (string, error) {
		return r.Cluster.InstanceReady(ctx, gw, config(gw))
	})
}

func (s *Steps) removeInstance(ctx context.Context, gw *resource.ApiGateway) (engine.Outcome, error) {
	return s.inRegion(gw, func(r Region) (string, error) {
		return r.Cluster.RemoveInstance(ctx, s.owner(ctx, gw))
	})
}

// newRevision changes the pod template, so that starting makes new pods. Run
// again after a crash it counts once more, which does no harm.
func (s *Steps) newRevision(ctx context.Context, gw *resource.ApiGateway) (engine.Outcome, error) {
	err := engine.ClaimOf(ctx).Update(ctx, map[string]any{"revision": gw.Revision + 1})
	return engine.Done(), err
}

// ensureDatabase makes the database and its user. The password is generated
// once and kept in the Secret; a crash before or after the user was made finds
// it there again.
func (s *Steps) ensureDatabase(ctx context.Context, gw *resource.ApiGateway) (engine.Outcome, error) {
	doc := &resource.Database{
		GatewayID: gw.GatewayID, Region: gw.Region,
		Name: resource.DatabaseName(gw.GatewayID), User: resource.DatabaseUser(gw.GatewayID),
	}
	doc.Meta = leaf(gw.GatewayID)
	if err := s.Children.EnsureDatabase(ctx, doc); err != nil {
		return engine.Outcome{}, err
	}
	return s.inRegion(gw, func(r Region) (string, error) {
		owner := s.owner(ctx, gw)
		secret, waiting, err := r.Cluster.EnsureSecret(ctx, owner,
			resource.NamespaceName(gw.GatewayID), resource.DatabaseSecretName(gw.GatewayID),
			func() map[string][]byte { return s.credentials(r, doc) })
		if err != nil || waiting != "" {
			return waiting, err
		}
		password, ok := secret[secretPassword]
		if !ok {
			return "", fmt.Errorf("secret %s has no key %q: delete the secret to have it made again",
				resource.DatabaseSecretName(gw.GatewayID), secretPassword)
		}
		return r.Databases.EnsureDatabase(ctx, owner, doc.Name, doc.User, string(password))
	})
}

// Keys of the database's Secret.
const (
	secretURI      = "uri"
	secretUser     = "user"
	secretPassword = "password"
)

func (s *Steps) credentials(r Region, doc *resource.Database) map[string][]byte {
	password := s.Password()
	return map[string][]byte{
		secretURI:      []byte(r.Databases.RuntimeURI(doc.Name, doc.User, password)),
		secretUser:     []byte(doc.User),
		secretPassword: []byte(password),
	}
}

func (s *Steps) removeDatabase(ctx context.Context, gw *resource.ApiGateway) (engine.Outcome, error) {
	outcome, err := s.inRegion(gw, func(r Region) (string, error) {
		owner := s.owner(ctx, gw)
		waiting, err := r.Databases.RemoveDatabase(ctx, owner, resource.DatabaseName(gw.GatewayID), resource.DatabaseUser(gw.GatewayID))
		if err != nil || waiting != "" {
			return waiting, err
		}
		return r.Cluster.RemoveSecret(ctx, owner, resource.NamespaceName(gw.GatewayID), resource.DatabaseSecretName(gw.GatewayID))
	})
	if _, waiting := outcome.Waiting(); err != nil || waiting {
		return outcome, err
	}
	return engine.Done(), s.Children.RemoveLeaf(ctx, resource.KindDatabase, gw.GatewayID)
}

func (s *Steps) ensureEnvironments(ctx context.Context, gw *resource.ApiGateway) (engine.Outcome, error) {
	region, err := s.Region(gw.Region)
	if err != nil {
		return engine.Outcome{}, err
	}
	var errs []error
	for _, name := range resource.Environments {
		errs = append(errs, s.Children.EnsureEnvironment(ctx, &resource.Environment{
			Meta:      leaf(resource.EnvironmentName(gw.GatewayID, name)),
			GatewayID: gw.GatewayID, Name: name,
			Host: resource.EnvironmentHost(gw.GatewayID, name, region.Settings.DomainSuffix),
		}))
	}
	return engine.Done(), errors.Join(errs...)
}

func (s *Steps) removeEnvironments(ctx context.Context, gw *resource.ApiGateway) (engine.Outcome, error) {
	return engine.Done(), s.Children.RemoveLeaf(ctx, resource.KindEnvironment, gw.GatewayID)
}

// ensureRuntimeDomain looks before it inserts: it is also run again and again
// while the gateway stands.
func (s *Steps) ensureRuntimeDomain(ctx context.Context, gw *resource.ApiGateway) (engine.Outcome, error) {
	there, err := s.there(ctx, resource.KindRuntimeDomain, gw)
	if err != nil || there[gw.GatewayID] {
		return s.stand(ctx, resource.KindRuntimeDomain, gw, err)
	}
	err = s.Children.EnsureRuntimeDomain(ctx, &resource.RuntimeDomain{
		Meta: child(gw.GatewayID), GatewayID: gw.GatewayID, Region: gw.Region,
	})
	return s.stand(ctx, resource.KindRuntimeDomain, gw, err)
}

func (s *Steps) ensureStages(ctx context.Context, gw *resource.ApiGateway) (engine.Outcome, error) {
	there, err := s.there(ctx, resource.KindStage, gw)
	for _, name := range resource.Environments {
		id := resource.EnvironmentName(gw.GatewayID, name)
		if err != nil || there[id] {
			continue
		}
		err = s.Children.EnsureStage(ctx, &resource.Stage{
			Meta: child(id), GatewayID: gw.GatewayID, Region: gw.Region, Environment: name,
		})
	}
	return s.stand(ctx, resource.KindStage, gw, err)
}

// there are the ids of the gateway's documents of a kind.
func (s *Steps) there(ctx context.Context, k resource.Kind, gw *resource.ApiGateway) (map[string]bool, error) {
	left, err := s.Children.Left(ctx, k, gw.GatewayID)
	ids := map[string]bool{}
	for _, doc := range left {
		ids[doc.ID] = true
	}
	return ids, err
}

// stand waits until the gateway's documents of a kind, which have been made
// unless err says otherwise, are Created.
func (s *Steps) stand(ctx context.Context, k resource.Kind, gw *resource.ApiGateway, err error) (engine.Outcome, error) {
	if err != nil {
		return engine.Outcome{}, err
	}
	return kind.Stand(ctx, s.Children, k, gw.GatewayID)
}

func (s *Steps) turn(k resource.Kind, state engine.State) func(context.Context, *resource.ApiGateway) (engine.Outcome, error) {
	return func(ctx context.Context, gw *resource.ApiGateway) (engine.Outcome, error) {
		return kind.Turn(ctx, s.Children, k, gw.GatewayID, state)
	}
}

func (s *Steps) drain(k resource.Kind) func(context.Context, *resource.ApiGateway) (engine.Outcome, error) {
	return func(ctx context.Context, gw *resource.ApiGateway) (engine.Outcome, error) {
		return kind.Drain(ctx, s.Children, k, gw.GatewayID)
	}
}

// nothingLeft looks once more for children that were made while the gateway
// was being deleted: once its document is gone, nobody would delete them.
func (s *Steps) nothingLeft(ctx context.Context, gw *resource.ApiGateway) (engine.Outcome, error) {
	if gw.Skips(stepDatabase) { // then its document stands for nothing that could still be removed
		if err := s.Children.RemoveLeaf(ctx, resource.KindDatabase, gw.GatewayID); err != nil {
			return engine.Outcome{}, err
		}
	}
	for _, k := range resource.Kinds {
		if k == resource.KindApiGateway {
			continue
		}
		left, err := s.Children.Left(ctx, k, gw.GatewayID)
		if err != nil {
			return engine.Outcome{}, err
		}
		if len(left) > 0 {
			return engine.Wait("%s %s, made during the deletion or skipped by it", k, left[0].ID), nil
		}
	}
	return engine.Done(), nil
}

// config is what the instance reads.
func config(gw *resource.ApiGateway) map[string]string {
	return map[string]string{
		"LOCKSTEP_GATEWAY_ID": gw.GatewayID,
		"LOCKSTEP_REGION":     gw.Region,
		"LOCKSTEP_DATABASE":   resource.DatabaseName(gw.GatewayID),
	}
}

// child is the Meta of a new child that has a task service.
func child(id string) engine.Meta {
	return engine.Meta{ID: id, State: resource.Active, Phase: resource.PhaseCreating, Generation: 1}
}

// leaf is the Meta of a new child that has none: the step that inserts it has
// made, or makes next, what it stands for.
func leaf(id string) engine.Meta {
	m := child(id)
	m.Phase = resource.PhaseCreated
	return m
}
