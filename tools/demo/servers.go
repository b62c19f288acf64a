package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
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
	"github.com/lockstep-io/lockstep/internal/resource"
)

// databaseName is the database of the demo's documents.
const databaseName = "lockstep_demo"

// issuerName is the ClusterIssuer of custom domains in the demo.
const issuerName = "lockstep-demo"

// The kinds of objects that the demo looks for.
var (
	namespaces  = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	issuers     = schema.GroupVersionResource{Group: "cert-manager.io", Version: "v1", Resource: "clusterissuers"}
	certs       = schema.GroupVersionResource{Group: "cert-manager.io", Version: "v1", Resource: "certificates"}
	inNamespace = []schema.GroupVersionResource{
		deployments, certs,
		{Version: "v1", Resource: "services"},
		{Version: "v1", Resource: "configmaps"},
		{Version: "v1", Resource: "secrets"},
		{Group: "apisix.apache.org", Version: "v2", Resource: "apisixroutes"},
		{Group: "apisix.apache.org", Version: "v2", Resource: "apisixpluginconfigs"},
		{Group: "apisix.apache.org", Version: "v2", Resource: "apisixtlses"},
		{Group: "apisix.apache.org", Version: "v2", Resource: "apisixconsumers"},
	}
)

// servers are the real ones, asked directly.
type servers struct {
	mongo     *mongo.Client
	kube      dynamic.Interface
	documents *documents.Documents
}

func connect(o settings) (*servers, error) {
	client, err := mongo.Connect(options.Client().ApplyURI(o.mongoURI))
	if err != nil {
		return nil, fmt.Errorf("MONGODB_URI: %w", err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", o.kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("KUBECONFIG: %w", err)
	}
	kube, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("KUBECONFIG: %w", err)
	}
	return &servers{mongo: client, kube: kube, documents: documents.Open(client.Database(databaseName))}, nil
}

func (s *servers) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = s.mongo.Disconnect(ctx)
}

// prepare makes the issuer that the demo's regions name.
func (s *servers) prepare(ctx context.Context) error {
	issuer := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "cert-manager.io/v1", "kind": "ClusterIssuer",
		"metadata": map[string]any{"name": issuerName},
		"spec":     map[string]any{"selfSigned": map[string]any{}},
	}}
	_, err := s.kube.Resource(issuers).Apply(ctx, issuerName, issuer, metav1.ApplyOptions{FieldManager: "lockstep-demo", Force: true})
	if err != nil {
		return fmt.Errorf("make the demo's ClusterIssuer: %w", err)
	}
	return nil
}

// removeDeployment deletes a gateway's Deployment behind the service's back.
func (s *servers) removeDeployment(ctx context.Context, id string) (uid string, err error) {
	api := s.kube.Resource(deployments).Namespace(resource.NamespaceName(id))
	live, err := api.Get(ctx, resource.InstanceName(id), metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	return string(live.GetUID()), api.Delete(ctx, live.GetName(), metav1.DeleteOptions{})
}

// deploymentUID is the identity of a gateway's Deployment; empty if there is
// none or it is going.
func (s *servers) deploymentUID(ctx context.Context, id string) (string, error) {
	live, err := s.kube.Resource(deployments).Namespace(resource.NamespaceName(id)).Get(ctx, resource.InstanceName(id), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil || live.GetDeletionTimestamp() != nil {
		return "", err
	}
	return string(live.GetUID()), nil
}

// nothingLeft asks the servers whether anything of the gateways is still
// there, and shows what it asked for.
func (s *servers) nothingLeft(ctx context.Context, gateways []string) error {
	fmt.Println("\nWhat is left of the gateways on the servers:")
	checks := []struct {
		name string
		find func(context.Context, []string) ([]string, error)
	}{
		{"documents", s.documentsLeft},
		{"namespaces", s.namespacesLeft},
		{"objects", s.objectsLeft},
		{"databases", s.databasesLeft},
		{"MongoDB users", s.usersLeft},
	}
	var errs []error
	for _, check := range checks {
		found, err := check.find(ctx, gateways)
		if err != nil {
			return fmt.Errorf("look for %s left: %w", check.name, err)
		}
		fmt.Printf("  %-14s %d\n", check.name, len(found))
		if len(found) > 0 {
			errs = append(errs, fmt.Errorf("%s left: %s", check.name, strings.Join(found, ", ")))
		}
	}
	return errors.Join(errs...)
}

func (s *servers) documentsLeft(ctx context.Context, _ []string) ([]string, error) {
	var found []string
	for _, kind := range resource.Kinds {
		store, err := s.documents.Headers(kind)
		if err != nil {
			return nil, err
		}
		docs, err := store.Find(ctx, bson.D{})
		if err != nil {
			return nil, err
		}
		for _, doc := range docs {
			found = append(found, string(kind)+"/"+doc.ID)
		}
	}
	return found, nil
}

func (s *servers) namespacesLeft(ctx context.Context, gateways []string) ([]string, error) {
	return s.objects(ctx, namespaces, gateways)
}

func (s *servers) objectsLeft(ctx context.Context, gateways []string) ([]string, error) {
	var found []string
	for _, kind := range inNamespace {
		names, err := s.objects(ctx, kind, gateways)
		if err != nil {
			return nil, err
		}
		found = append(found, names...)
	}
	return found, nil
}

// objects lists the objects of the gateways, by label and by name.
func (s *servers) objects(ctx context.Context, kind schema.GroupVersionResource, gateways []string) ([]string, error) {
	all, err := s.kube.Resource(kind).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	var found []string
	for _, o := range all.Items {
		id, _, _ := strings.Cut(o.GetName(), "-")
		if slices.Contains(gateways, o.GetLabels()[resource.LabelGateway]) || slices.Contains(gateways, id) {
			found = append(found, kind.Resource+"/"+o.GetName())
		}
	}
	return found, nil
}

func (s *servers) databasesLeft(ctx context.Context, gateways []string) ([]string, error) {
	names, err := s.mongo.ListDatabaseNames(ctx, bson.D{})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(names, func(n string) bool { return !slices.Contains(gateways, strings.TrimPrefix(n, "gw_")) }), nil
}

func (s *servers) usersLeft(ctx context.Context, gateways []string) ([]string, error) {
	var found []string
	for _, id := range gateways {
		var answer struct {
			Users []bson.M `bson:"users"`
		}
		err := s.mongo.Database("admin").RunCommand(ctx, bson.D{{Key: "usersInfo", Value: resource.DatabaseUser(id)}}).Decode(&answer)
		if err != nil {
			return nil, err
		}
		if len(answer.Users) > 0 {
			found = append(found, resource.DatabaseUser(id))
		}
	}
	return found, nil
}
