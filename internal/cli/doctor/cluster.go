package doctor

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	authorization "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/lockstep-io/lockstep/internal/driver/kube"
	"github.com/lockstep-io/lockstep/internal/resource"
)

// verbs are what the service does with the objects that it manages.
var verbs = []string{"get", "list", "watch", "create", "patch", "delete"}

// looked are the types that the service looks at, and of which it deletes strays.
var looked = []kube.Type{
	{Version: "v1", Resource: "pods", Namespaced: true},
	{Group: "apps", Version: "v1", Resource: "replicasets", Namespaced: true},
}

var clusterIssuers = schema.GroupVersionResource{Group: "cert-manager.io", Version: "v1", Resource: "clusterissuers"}

// Cluster checks a region's cluster.
func Cluster(ctx context.Context, region resource.Region) []Check {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	r := &report{where: "cluster of region " + region.Name}
	cfg, err := clientcmd.BuildConfigFromFlags("", region.Kubeconfig)
	if err != nil {
		r.bad("kubeconfig", "put the region's kubeconfig right (--kubeconfig); without one, doctor must run in the cluster", "%s", firstLine(err))
		return r.checks
	}
	cfg.QPS, cfg.Burst, cfg.Timeout = 50, 100, timeout
	c := &cluster{report: r, region: region}
	httpClient, err := c.connect(cfg)
	if err != nil {
		r.bad("kubeconfig", "put the region's kubeconfig right (--kubeconfig)", "%s", firstLine(err))
		return r.checks
	}
	defer utilnet.CloseIdleConnectionsFor(httpClient.Transport)
	if c.version() {
		c.types()
		c.permissions(ctx)
		c.issuer(ctx)
		c.wildcard(ctx)
	}
	return r.checks
}

type cluster struct {
	*report
	region  resource.Region
	typed   kubernetes.Interface
	dynamic dynamic.Interface
}

func (c *cluster) connect(cfg *rest.Config) (*http.Client, error) {
	httpClient, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, err
	}
	if c.typed, err = kubernetes.NewForConfigAndClient(cfg, httpClient); err != nil {
		return nil, err
	}
	c.dynamic, err = dynamic.NewForConfigAndClient(cfg, httpClient)
	return httpClient, err
}

func (c *cluster) version() bool {
	v, err := c.typed.Discovery().ServerVersion()
	if err != nil {
		c.bad("answers", "open the way to its API server, or put the region's kubeconfig right", "no: %s", firstLine(err))
		return false
	}
	c.good("version", "Kubernetes %s", v.GitVersion)
	return true
}

// types checks that the cluster has the types which the service manages.
func (c *cluster) types() {
	fixes := map[string]string{
		"apisix.apache.org": "install the CRDs of APISIX's ingress controller (apisix.apache.org/v2)",
		"cert-manager.io":   "install cert-manager",
	}
	for group, fix := range fixes {
		var missing, version []string
		for _, t := range kube.Types {
			if t.Group != group {
				continue
			}
			version = []string{t.Group + "/" + t.Version}
			list, err := c.typed.Discovery().ServerResourcesForGroupVersion(version[0])
			if err != nil && !apierrors.IsNotFound(err) {
				c.bad("types", "", "%s cannot be looked up: %s", group, firstLine(err))
				return
			}
			if err != nil || !slices.ContainsFunc(list.APIResources, func(x metav1.APIResource) bool { return x.Name == t.Resource }) {
				missing = append(missing, t.Resource)
			}
		}
		if len(missing) > 0 {
			c.bad("types", fix, "%s lacks %s", version[0], strings.Join(missing, ", "))
		} else {
			c.good("types", "%s is there", version[0])
		}
	}
	slices.SortFunc(c.checks, func(a, b Check) int {
		if a.What != "types" || b.What != "types" {
			return 0
		}
		return strings.Compare(a.Found, b.Found)
	})
}

// permissions asks the cluster what the service may do.
func (c *cluster) permissions(ctx context.Context) {
	denied, asked := []string{}, 0
	ask := func(t kube.Type, verbs ...string) bool {
		for _, verb := range verbs {
			asked++
			review, err := c.typed.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorization.SelfSubjectAccessReview{
				Spec: authorization.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorization.ResourceAttributes{
					Group: t.Group, Version: t.Version, Resource: t.Resource, Verb: verb,
				}},
			}, metav1.CreateOptions{})
			if err != nil {
				c.bad("permissions", "give the service's account the role system:basic-user", "cannot be asked for: %s", firstLine(err))
				return false
			}
			if !review.Status.Allowed {
				denied = append(denied, verb+" "+t.Resource)
			}
		}
		return true
	}
	for _, t := range kube.Types {
		if !ask(t, verbs...) {
			return
		}
	}
	for _, t := range looked {
		if !ask(t, "list", "delete") {
			return
		}
	}
	if len(denied) > 0 {
		c.bad("permissions", "bind the service's account to a ClusterRole that allows this in all namespaces", "it may not %s", strings.Join(denied, ", "))
		return
	}
	c.good("permissions", "all %d that are needed", asked)
}

// issuer checks the issuer of custom domains' certificates.
func (c *cluster) issuer(ctx context.Context) {
	name := c.region.ClusterIssuer
	obj, err := c.dynamic.Resource(clusterIssuers).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		c.bad("issuer", "make it, or name another (--cluster-issuer)", "there is no ClusterIssuer %s: custom domains get no certificates", name)
	case apierrors.IsForbidden(err):
		c.add("issuer", Warning, "", "ClusterIssuer %s cannot be looked at: not allowed", name)
	case err != nil:
		c.bad("issuer", "", "ClusterIssuer %s: %s", name, firstLine(err))
	default:
		if ready, why := isReady(obj); !ready {
			c.bad("issuer", "see `kubectl describe clusterissuer "+name+"`", "ClusterIssuer %s is not ready%s", name, why)
			return
		}
		c.good("issuer", "ClusterIssuer %s is ready", name)
	}
}

func isReady(obj *unstructured.Unstructured) (ready bool, why string) {
	conditions, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	for _, condition := range conditions {
		fields, _ := condition.(map[string]any)
		if fields["type"] == "Ready" {
			return fields["status"] == "True", fmt.Sprintf(": %v", fields["message"])
		}
	}
	return false, ""
}

// wildcard checks the certificate of the region's own hosts.
func (c *cluster) wildcard(ctx context.Context) {
	if !c.region.TLS {
		return
	}
	namespace, name, _ := strings.Cut(c.region.WildcardSecret, "/")
	secret, err := c.typed.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		c.bad("wildcard certificate", "make the Secret, or name another (--wildcard-secret)", "there is no Secret %s", c.region.WildcardSecret)
	case err != nil:
		c.bad("wildcard certificate", "", "%s", firstLine(err))
	case len(secret.Data["tls.crt"]) == 0 || len(secret.Data["tls.key"]) == 0:
		c.bad("wildcard certificate", "put tls.crt and tls.key into it", "Secret %s has no certificate", c.region.WildcardSecret)
	default:
		c.good("wildcard certificate", "Secret %s is there", c.region.WildcardSecret)
	}
}
