package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

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
)

// databaseName is the database of the demo's documents.
const databaseName = "lockstep_demo"

// issuerName is the ClusterIssuer of custom domains in the demo.
const issuerName = "lockstep-demo"

var (
	deployments = kube.Deployment.GVR()
	issuers     = schema.GroupVersionResource{Group: "cert-manager.io", Version: "v1", Resource: "clusterissuers"}
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
	cluster, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("KUBECONFIG: %w", err)
	}
	return &servers{mongo: client, kube: cluster, documents: documents.Open(client.Database(databaseName))}, nil
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
	traces, err := witness.New(s.mongo.Database(databaseName), s.kube).Of(ctx, gateways...)
	if err != nil {
		return fmt.Errorf("look for what is left: %w", err)
	}
	var errs []error
	for _, sort := range []struct {
		name  string
		found []string
	}{
		{"documents", traces.Documents},
		{"namespaces", traces.Namespaces},
		{"objects", traces.Objects},
		{"databases", traces.Databases},
		{"MongoDB users", traces.Users},
	} {
		fmt.Printf("  %-14s %d\n", sort.name, len(sort.found))
		if len(sort.found) > 0 {
			errs = append(errs, fmt.Errorf("%s left: %s", sort.name, strings.Join(sort.found, ", ")))
		}
	}
	return errors.Join(errs...)
}
