package config

import (
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/lockstep-io/lockstep/internal/resource"
)

// maxReplicas bounds the pods of a gateway, as a guard against slips.
const maxReplicas = 100

// regionFields are the names of a region's fields in a file.
var regionFields = fieldNames(reflect.TypeFor[resource.Region]())

func fieldNames(t reflect.Type) []string {
	var names []string
	for field := range t.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

var secretRef = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?/[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`)

// checkRegion returns what is wrong with a region. [resource.Region.Validate]
// has the last word: what it refuses and this does not is reported in its
// words.
func checkRegion(r resource.Region) []problem {
	var problems []problem
	check := func(ok bool, field, value, fix string) {
		switch {
		case ok:
		case value == "":
			problems = append(problems, problem{field, notSet, fix})
		default:
			problems = append(problems, problem{field, is(value), fix})
		}
	}
	check(dnsLabel.MatchString(r.Name), "name", r.Name, "use at most 63 of a-z, 0-9 and dashes")
	check(r.IngressClass != "", "ingressClass", "", "set it to the ingress class of APISIX")
	check(validDomain(r.DomainSuffix), "domainSuffix", r.DomainSuffix, "use a domain in lower case, such as eu.example.com")
	check(r.ClusterIssuer != "", "clusterIssuer", "", "set it to cert-manager's ClusterIssuer for custom domains")
	check(r.RuntimeImage != "" && !strings.ContainsAny(r.RuntimeImage, " \t\n"), "runtimeImage", r.RuntimeImage, "set it to the image that gateways run")
	check(!r.TLS || secretRef.MatchString(r.WildcardSecret), "wildcardSecret", r.WildcardSecret,
		"with tls on, set it to NAMESPACE/NAME of the Secret with the certificate")
	check(r.RuntimeReplicas >= 1 && r.RuntimeReplicas <= maxReplicas, "runtimeReplicas",
		strconv.Itoa(int(r.RuntimeReplicas)), "use a whole number from 1 to "+strconv.Itoa(maxReplicas))
	check(slices.Contains([]string{resource.AcceptedByController, resource.AcceptedByAPIServer}, r.ApisixAcceptance),
		"apisixAcceptance", r.ApisixAcceptance, "use "+resource.AcceptedByController+" or "+resource.AcceptedByAPIServer)
	switch {
	case r.RuntimeMongoURI == "":
		problems = append(problems, problem{"runtimeMongoUri", notSet, "set it to the MongoDB on which the gateways' databases are made"})
	case !validURI(r.RuntimeMongoURI):
		problems = append(problems, problem{"runtimeMongoUri", "is not the address of a MongoDB", uriFix})
	}
	if err := r.Validate(); err != nil && len(problems) == 0 {
		problems = append(problems, problem{"", "is refused", err.Error()})
	}
	return problems
}
