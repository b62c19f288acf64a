package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/lockstep-io/lockstep/internal/documents"
	"github.com/lockstep-io/lockstep/internal/driver/kube"
	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/internal/witness"
	"github.com/lockstep-io/lockstep/pkg/engine"
)

var (
	deployments = kube.Deployment.GVR()
	issuers     = schema.GroupVersionResource{Group: "cert-manager.io", Version: "v1", Resource: "clusterissuers"}
)

// ours selects the objects that replicas make.
const ours = resource.LabelManagedBy + "=" + resource.ManagedBy

// servers are the real ones, asked directly and not through the lines of the
// replicas. Of the two gateways to the database, the one that answers is used.
type servers struct {
	clients []*mongo.Client
	docs    []*documents.Documents
	turn    atomic.Int64
	kube    dynamic.Interface
}

func connect(s *stack) (*servers, error) {
	all := &servers{}
	for _, name := range []string{"MONGODB_URI", "MONGODB_URI_2"} {
		client, err := mongo.Connect(options.Client().ApplyURI(s.env[name]).SetServerSelectionTimeout(2 * time.Second))
		if err != nil {
			return nil, fmt.Errorf("connect to %s: %w", name, err)
		}
		all.clients = append(all.clients, client)
		all.docs = append(all.docs, documents.Open(client.Database(databaseName)))
	}
	config, err := clientcmd.BuildConfigFromFlags("", s.env["KUBECONFIG"])
	if err != nil {
		return nil, fmt.Errorf("read the stack's kubeconfig: %w", err)
	}
	config.QPS, config.Burst = 100, 200
	all.kube, err = dynamic.NewForConfig(config)
	return all, err
}

func (s *servers) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	for _, c := range s.clients {
		_ = c.Disconnect(ctx)
	}
}

// try asks the gateway that answered last, and the other if it does not now.
func (s *servers) try(ctx context.Context, f func(ctx context.Context, db *mongo.Database, docs *documents.Documents) error) error {
	var errs []error
	for range s.clients {
		i := s.turn.Load() % int64(len(s.clients))
		once, cancel := context.WithTimeout(ctx, 10*time.Second)
		err := f(once, s.clients[i].Database(databaseName), s.docs[i])
		cancel()
		if err == nil {
			return nil
		}
		errs = append(errs, err)
		s.turn.Add(1)
	}
	return errors.Join(errs...)
}

// headers reads all documents of a kind; without their histories if brief.
func (s *servers) headers(ctx context.Context, kind resource.Kind, brief bool) (found []*resource.Header, err error) {
	opts := options.Find()
	if brief {
		opts.SetProjection(bson.D{{Key: "history", Value: 0}})
	}
	err = s.try(ctx, func(ctx context.Context, _ *mongo.Database, docs *documents.Documents) error {
		store, err := docs.Headers(kind)
		if err != nil {
			return err
		}
		found, err = store.Find(ctx, bson.D{}, opts)
		return err
	})
	return found, err
}

// answer reports whether all servers answer.
func (s *servers) answer(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	for _, c := range s.clients {
		err := c.Database(databaseName).Collection(string(resource.KindApiGateway)).FindOne(ctx, bson.D{}).Err()
		if err != nil && !errors.Is(err, mongo.ErrNoDocuments) {
			return false
		}
	}
	_, err := s.kube.Resource(issuers).Get(ctx, issuerName, metav1.GetOptions{})
	return err == nil
}

// want sets the state of a document as a person would in mongosh: past the API,
// and past all that the service counts.
func (s *servers) want(ctx context.Context, kind resource.Kind, id string, state engine.State) error {
	return s.try(ctx, func(ctx context.Context, db *mongo.Database, _ *documents.Documents) error {
		filter := bson.D{{Key: "_id", Value: id}, {Key: "state", Value: bson.D{{Key: "$ne", Value: resource.Deleted}}}}
		_, err := db.Collection(string(kind)).UpdateOne(ctx, filter, bson.D{{Key: "$set", Value: bson.D{{Key: "state", Value: state}}}})
		return err
	})
}

// prepare makes the issuer that the regions name.
func (s *servers) prepare(ctx context.Context) error {
	issuer := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "cert-manager.io/v1", "kind": "ClusterIssuer",
		"metadata": map[string]any{"name": issuerName},
		"spec":     map[string]any{"selfSigned": map[string]any{}},
	}}
	_, err := s.kube.Resource(issuers).Apply(ctx, issuerName, issuer, metav1.ApplyOptions{FieldManager: "chaos", Force: true})
	return err
}

// removeDeployment deletes a gateway's Deployment behind the service's back.
func (s *servers) removeDeployment(ctx context.Context, id string) error {
	err := s.kube.Resource(deployments).Namespace(resource.NamespaceName(id)).Delete(ctx, resource.InstanceName(id), metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// deployed are the gateways that have a Deployment which is not going.
func (s *servers) deployed(ctx context.Context) (map[string]bool, error) {
	list, err := s.kube.Resource(deployments).List(ctx, metav1.ListOptions{LabelSelector: ours})
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	for _, d := range list.Items {
		if d.GetDeletionTimestamp() == nil {
			found[d.GetLabels()[resource.LabelGateway]] = true
		}
	}
	return found, nil
}

// left is what is still there: all that replicas ever make, as the stack is
// theirs alone.
func (s *servers) left(ctx context.Context) (traces witness.Traces, err error) {
	err = s.try(ctx, func(ctx context.Context, db *mongo.Database, _ *documents.Documents) error {
		traces, err = witness.New(db, s.kube).Of(ctx)
		return err
	})
	return traces, err
}
