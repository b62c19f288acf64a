// Package witness tells what there really is of gateways, asked of the servers
// themselves and not of a replica. The demo, the chaos suite and tests go by
// it; the service does not use it, and it uses none of the service's drivers
// but their list of types.
package witness

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/lockstep-io/lockstep/internal/documents"
	"github.com/lockstep-io/lockstep/internal/driver/kube"
	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/pkg/engine"
)

// Witness looks at one database of documents and one cluster. The gateways'
// own databases and users are expected on the same server as the documents.
type Witness struct {
	db   *mongo.Database
	docs *documents.Documents
	kube dynamic.Interface
}

// New returns a witness with connections of the caller's.
func New(db *mongo.Database, cluster dynamic.Interface) *Witness {
	return &Witness{db: db, docs: documents.Open(db), kube: cluster}
}

// Traces names what there is of gateways.
type Traces struct {
	// Documents of all kinds, each with where it stands.
	Documents []string
	// Namespaces and, by type, the Objects in them.
	Namespaces, Objects []string
	// Databases and Users on the MongoDB server.
	Databases, Users []string
}

// Outside is all but the documents: what a gateway has left behind if they are
// gone.
func (t Traces) Outside() []string {
	return slices.Concat(t.Namespaces, t.Objects, t.Databases, t.Users)
}

// Of names all that there is of the given gateways; of any gateway if none is
// given.
func (w *Witness) Of(ctx context.Context, gateways ...string) (t Traces, err error) {
	if t.Documents, err = w.Documents(ctx, gateways...); err != nil {
		return Traces{}, err
	}
	objects, err := w.Objects(ctx, gateways...)
	if err != nil {
		return Traces{}, err
	}
	for _, obj := range objects {
		name := strings.ToLower(obj.GetKind()) + " " + obj.GetName()
		if obj.GetKind() == kube.Namespace.Kind {
			t.Namespaces = append(t.Namespaces, name)
		} else {
			t.Objects = append(t.Objects, name)
		}
	}
	names, err := w.Databases(ctx, gateways...)
	if err != nil {
		return Traces{}, err
	}
	for _, name := range names {
		t.Databases = append(t.Databases, "database "+name)
	}
	if names, err = w.Users(ctx, gateways...); err != nil {
		return Traces{}, err
	}
	for _, name := range names {
		t.Users = append(t.Users, "user "+name)
	}
	return t, nil
}

// Documents names the gateways' documents, of all kinds, each with where it
// stands.
func (w *Witness) Documents(ctx context.Context, gateways ...string) (found []string, err error) {
	filter := bson.D{}
	if len(gateways) > 0 {
		filter = bson.D{{Key: "gatewayId", Value: bson.D{{Key: "$in", Value: gateways}}}}
	}
	for _, kind := range resource.Kinds {
		store, err := w.docs.Headers(kind)
		if err != nil {
			return nil, err
		}
		docs, err := store.Find(ctx, filter)
		if err != nil {
			return nil, err
		}
		for _, doc := range docs {
			found = append(found, string(kind)+" "+Stands(&doc.Meta))
		}
	}
	return found, nil
}

// Objects lists the gateways' objects of all managed types, namespaces among
// them, by their labels; and by their names, in case they have lost those.
func (w *Witness) Objects(ctx context.Context, gateways ...string) (found []unstructured.Unstructured, err error) {
	for _, typ := range kube.Types {
		list, err := w.kube.Resource(typ.GVR()).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", typ.Resource, err)
		}
		for _, obj := range list.Items {
			if concerns(&obj, gateways) {
				found = append(found, obj)
			}
		}
	}
	return found, nil
}

func concerns(obj *unstructured.Unstructured, gateways []string) bool {
	if len(gateways) == 0 {
		return obj.GetLabels()[resource.LabelManagedBy] == resource.ManagedBy
	}
	named, _, _ := strings.Cut(obj.GetName(), "-")
	return slices.Contains(gateways, obj.GetLabels()[resource.LabelGateway]) ||
		slices.Contains(gateways, obj.GetNamespace()) && obj.GetLabels()[resource.LabelManagedBy] == resource.ManagedBy ||
		slices.Contains(gateways, named)
}

// Databases names the gateways' own databases.
func (w *Witness) Databases(ctx context.Context, gateways ...string) ([]string, error) {
	names, err := w.db.Client().ListDatabaseNames(ctx, bson.D{})
	if err != nil {
		return nil, fmt.Errorf("list databases: %w", err)
	}
	return slices.DeleteFunc(names, func(name string) bool { return !belongs(name, gateways, resource.DatabaseName) }), nil
}

// Users names the gateways' MongoDB users.
func (w *Witness) Users(ctx context.Context, gateways ...string) (found []string, err error) {
	var answer struct {
		Users []struct {
			User string `bson:"user"`
		} `bson:"users"`
	}
	if err := w.db.Client().Database("admin").RunCommand(ctx, bson.D{{Key: "usersInfo", Value: 1}}).Decode(&answer); err != nil {
		return nil, fmt.Errorf("list users: %w", err)
	}
	for _, u := range answer.Users {
		if belongs(u.User, gateways, resource.DatabaseUser) {
			found = append(found, u.User)
		}
	}
	return found, nil
}

// belongs reports whether a name is what one of the gateways gives, or any
// gateway would.
func belongs(name string, gateways []string, of func(gatewayID string) string) bool {
	if len(gateways) == 0 {
		return strings.HasPrefix(name, of(""))
	}
	return slices.ContainsFunc(gateways, func(id string) bool { return name == of(id) })
}

// Stands says in a line where a document stands.
func Stands(m *engine.Meta) string {
	s := fmt.Sprintf("%s: state %s, phase %s, step %q, waiting for %q, attempts %d, locked by %q, token %d",
		m.ID, m.State, m.Phase, m.Step, m.WaitingFor, m.Attempts, m.LockedBy, m.LockToken)
	if m.LastError != nil {
		s += fmt.Sprintf(", last error at %q: %s", m.LastError.Step, m.LastError.Message)
	}
	return s
}
