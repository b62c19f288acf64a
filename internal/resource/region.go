package resource

import (
	"errors"
	"fmt"
	"slices"
)

// Region is a cluster and its settings. A gateway belongs to one region.
type Region struct {
	Name string `json:"name"`
	// Kubeconfig is the path of the cluster's kubeconfig; empty means the
	// cluster that the service itself runs in.
	Kubeconfig string `json:"kubeconfig"`
	// IngressClass is set on all APISIX objects.
	IngressClass string `json:"ingressClass"`
	// DomainSuffix is the domain under which gateways get their hosts.
	DomainSuffix string `json:"domainSuffix"`
	// TLS turns HTTPS on for the hosts under DomainSuffix, with the
	// certificate of WildcardSecret ("namespace/name").
	TLS            bool   `json:"tls"`
	WildcardSecret string `json:"wildcardSecret,omitempty"`
	// ClusterIssuer is cert-manager's issuer of certificates for custom
	// domains.
	ClusterIssuer string `json:"clusterIssuer"`
	// RuntimeMongoURI is the server on which the gateways' own databases are
	// made, with a user who may create databases and users. Secret.
	RuntimeMongoURI string `json:"runtimeMongoUri"`
	// RuntimeImage and RuntimeReplicas are the defaults for instances.
	RuntimeImage    string `json:"runtimeImage"`
	RuntimeReplicas int32  `json:"runtimeReplicas"`
	// ApisixAcceptance says when an APISIX object counts as accepted:
	// "controller" (its ingress controller has reported it for the present
	// generation) or "apiserver" (where no controller runs, the API server's
	// acceptance is all there is).
	ApisixAcceptance string `json:"apisixAcceptance"`
}

// The values of Region.ApisixAcceptance.
const (
	AcceptedByController = "controller"
	AcceptedByAPIServer  = "apiserver"
)

// Validate returns an error that names each wrong field and its fix.
func (r *Region) Validate() error {
	var errs []error
	require := func(field, value string) {
		if value == "" {
			errs = append(errs, fmt.Errorf("region %q: %s is empty: set it", r.Name, field))
		}
	}
	require("name", r.Name)
	require("ingressClass", r.IngressClass)
	require("domainSuffix", r.DomainSuffix)
	require("runtimeMongoUri", r.RuntimeMongoURI)
	require("runtimeImage", r.RuntimeImage)
	require("clusterIssuer", r.ClusterIssuer)
	if r.TLS {
		require("wildcardSecret (tls is on)", r.WildcardSecret)
	}
	if r.RuntimeReplicas < 1 {
		errs = append(errs, fmt.Errorf("region %q: runtimeReplicas is %d: set it to 1 or more", r.Name, r.RuntimeReplicas))
	}
	if !slices.Contains([]string{AcceptedByController, AcceptedByAPIServer}, r.ApisixAcceptance) {
		errs = append(errs, fmt.Errorf("region %q: apisixAcceptance is %q: use %q or %q",
			r.Name, r.ApisixAcceptance, AcceptedByController, AcceptedByAPIServer))
	}
	return errors.Join(errs...)
}
