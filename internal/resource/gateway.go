package resource

import "github.com/lockstep-io/lockstep/pkg/engine"

// ApiGateway is the root of a gateway's tree. Its instance (Deployment and
// Service) has no document of its own: the gateway's phase is its phase.
// The document's _id is the gatewayId.
type ApiGateway struct {
	engine.Meta `bson:",inline"`
	Audited     `bson:",inline"`

	GatewayID string `bson:"gatewayId" json:"gatewayId"`
	Name      string `bson:"name" json:"name"`
	// Tenant owns the gateway: nobody of another tenant sees it. It never
	// changes.
	Tenant string `bson:"tenant,omitempty" json:"tenant,omitempty"`
	// Region is immutable: the cluster in which the gateway lives.
	Region  string  `bson:"region" json:"region"`
	Runtime Runtime `bson:"runtime" json:"runtime"`
	// Revision counts the restarts. It is part of the pod template, so that a
	// new one makes new pods.
	Revision int64 `bson:"revision,omitempty" json:"revision,omitempty"`
}

// Runtime is what the instance runs. Empty fields take the region's defaults.
type Runtime struct {
	Image    string            `bson:"image,omitempty" json:"image,omitempty"`
	Replicas int32             `bson:"replicas,omitempty" json:"replicas,omitempty"`
	Env      map[string]string `bson:"env,omitempty" json:"env,omitempty"`
	// CPU and Memory are the pods' requests, as Kubernetes quantities.
	CPU    string `bson:"cpu,omitempty" json:"cpu,omitempty"`
	Memory string `bson:"memory,omitempty" json:"memory,omitempty"`
}

// RuntimeDomain is where a gateway is reached: a host for each environment,
// and at most one custom domain. The document's _id is the gatewayId.
type RuntimeDomain struct {
	engine.Meta `bson:",inline"`
	Audited     `bson:",inline"`

	GatewayID string `bson:"gatewayId" json:"gatewayId"`
	Region    string `bson:"region" json:"region"`
	// CustomDomain is the bound domain, served by the prod environment;
	// unique among all gateways by index, empty if none is bound.
	CustomDomain string `bson:"customDomain,omitempty" json:"customDomain,omitempty"`
	// CustomDomainReady is the custom domain that is being served: its
	// certificate was issued and its route exists.
	CustomDomainReady string `bson:"customDomainReady,omitempty" json:"customDomainReady,omitempty"`
}

// Database is the gateway's own database. It is a leaf: the gateway's steps
// create and drop it. The document's _id is the gatewayId.
type Database struct {
	engine.Meta `bson:",inline"`
	Audited     `bson:",inline"`

	GatewayID string `bson:"gatewayId" json:"gatewayId"`
	Region    string `bson:"region" json:"region"`
	// Name is the database's name, User that of its runtime user. The password
	// is in the Kubernetes Secret and nowhere else.
	Name string `bson:"name" json:"name"`
	User string `bson:"user" json:"user"`
}

// Header is what the documents of all kinds have, for those who look at a
// document without knowing its kind.
type Header struct {
	engine.Meta `bson:",inline"`
	Audited     `bson:",inline"`

	GatewayID string `bson:"gatewayId" json:"gatewayId"`
}
