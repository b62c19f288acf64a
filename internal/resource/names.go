package resource

// Labels on every external object, by which it is found and, when its
// document is gone, recognised as an orphan.
const (
	// LabelManagedBy has the value [ManagedBy].
	LabelManagedBy = "app.kubernetes.io/managed-by"
	ManagedBy      = "lockstep"
	// LabelGateway has the gatewayId as its value.
	LabelGateway = "lockstep.io/gateway"
	// LabelKind is the kind of the document that owns the object.
	LabelKind = "lockstep.io/kind"
	// AnnotationOwner is the _id of the document that owns the object.
	AnnotationOwner = "lockstep.io/owner"
	// AnnotationToken is the fencing token of the claim that wrote the object
	// last. A holder with a lower token may not touch it.
	AnnotationToken = "lockstep.io/token"
)

// NamespaceName is the gateway's namespace. Everything else of the gateway is
// in it.
func NamespaceName(gatewayID string) string { return gatewayID }

// ConfigMapName is the ConfigMap that the instance reads its settings from.
func ConfigMapName(gatewayID string) string { return gatewayID + "-config" }

// InstanceName names the instance's Deployment and Service.
func InstanceName(gatewayID string) string { return gatewayID + "-runtime" }

// DatabaseSecretName is the Secret with the database's URI, user and password.
func DatabaseSecretName(gatewayID string) string { return gatewayID + "-database" }

// DatabaseName is the gateway's own database.
func DatabaseName(gatewayID string) string { return "gw_" + gatewayID }

// DatabaseUser is the user that the instance connects as.
func DatabaseUser(gatewayID string) string { return "gw_" + gatewayID }

// EnvironmentName is both the _id of the Environment and Stage documents and
// the name of the environment's default ApisixRoute.
func EnvironmentName(gatewayID, environment string) string { return gatewayID + "-" + environment }

// StageRouteName is the ApisixRoute with a stage's published routes.
func StageRouteName(gatewayID, environment string) string {
	return gatewayID + "-" + environment + "-stage"
}

// TLSName is an environment's ApisixTls.
func TLSName(gatewayID, environment string) string { return gatewayID + "-" + environment + "-tls" }

// PluginConfigName is the gateway's ApisixPluginConfig.
func PluginConfigName(gatewayID string) string { return gatewayID + "-plugins" }

// CustomTLSName names the custom domain's ApisixTls, and the Certificate's
// Secret.
func CustomTLSName(gatewayID string) string { return gatewayID + "-custom-tls" }

// CustomDomainName names the custom domain's Certificate and ApisixRoute.
func CustomDomainName(gatewayID string) string { return gatewayID + "-runtime-custom-domain" }

// ConsumerName is a ClientApp's ApisixConsumer and Secret. ApisixConsumer
// names become Kubernetes names, so it is the document's _id.
func ConsumerName(gatewayID, environment, app string) string {
	return gatewayID + "-" + environment + "-" + app
}

// CustomDomainEnvironment is the environment that a custom domain serves.
const CustomDomainEnvironment = "prod"

// EnvironmentHost is the host at which an environment is reached, below the
// region's domain suffix: vn8ofl-dev.eu.example.com; prod has no suffix of its
// own: vn8ofl.eu.example.com.
func EnvironmentHost(gatewayID, environment, domainSuffix string) string {
	if environment == CustomDomainEnvironment {
		return gatewayID + "." + domainSuffix
	}
	return gatewayID + "-" + environment + "." + domainSuffix
}
