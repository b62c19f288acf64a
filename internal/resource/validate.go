package resource

import (
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Limits on what users may choose. Names that Kubernetes objects derive from
// stay within its 63 characters: "<gatewayId>-staging-<name>-<suffix>".
const (
	MaxGatewayName = 63
	MaxChildName   = 40
	MaxReplicas    = 50
	MaxEnv         = 100
	MaxEnvValue    = 4096
	MaxCode        = 512 << 10
	MaxRoutes      = 200
)

var (
	label     = regexp.MustCompile(`^[a-z]([a-z0-9-]*[a-z0-9])?$`)
	hostLabel = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)
	envName   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	image     = regexp.MustCompile(`^([a-zA-Z0-9][a-zA-Z0-9.-]*(:[0-9]{1,5})?/)?` +
		`[a-z0-9]+([._/-]+[a-z0-9]+)*(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(@sha256:[a-f0-9]{64})?$`)
	routePath = regexp.MustCompile(`^/[A-Za-z0-9._~!$&'()+,;=:@%/-]*\*?$`)
)

// ValidName checks a name of which names of Kubernetes objects are made.
func ValidName(name string, limit int) error {
	if len(name) > limit || !label.MatchString(name) {
		return fmt.Errorf("use at most %d lower-case letters, digits and hyphens, a letter first and no hyphen last", limit)
	}
	return nil
}

// ValidDomain checks a domain that can be bound, in lower case.
func ValidDomain(domain string) error {
	labels := strings.Split(domain, ".")
	switch {
	case len(domain) > 253:
		return errors.New("use a domain of at most 253 characters")
	case strings.HasPrefix(domain, "*."):
		return errors.New("use one domain: wildcards cannot be bound")
	case len(labels) < 2:
		return errors.New("use a full domain such as api.example.com")
	}
	if _, err := netip.ParseAddr(domain); err == nil {
		return errors.New("use a domain, not an address")
	}
	for _, l := range labels {
		if len(l) > 63 || !hostLabel.MatchString(l) {
			return fmt.Errorf("%q is not a label of a domain: use letters, digits and hyphens (other letters as xn--…)", l)
		}
	}
	return nil
}

// ValidSchedule checks a cron expression of five fields, or a descriptor such
// as "@hourly".
func ValidSchedule(schedule string) error {
	if strings.HasPrefix(schedule, "TZ=") || strings.HasPrefix(schedule, "CRON_TZ=") {
		return errors.New("name the zone in timeZone, not in the schedule")
	}
	if _, err := cron.ParseStandard(schedule); err != nil {
		return fmt.Errorf("%w: use five fields such as \"*/5 * * * *\", or @hourly, @daily, @every 1h", err)
	}
	return nil
}

// ValidTimeZone checks the IANA name of a zone; empty is UTC.
func ValidTimeZone(zone string) error {
	if zone == "Local" {
		return errors.New(`"Local" differs by server: use an IANA name such as Europe/Berlin`)
	}
	if _, err := time.LoadLocation(zone); err != nil {
		return fmt.Errorf("%q is not a known zone: use an IANA name such as Europe/Berlin", zone)
	}
	return nil
}

// ValidImage checks the reference of a container image.
func ValidImage(ref string) error {
	if len(ref) > 512 || !image.MatchString(ref) {
		return errors.New("use an image reference such as registry.example.com/team/runtime:1.2")
	}
	return nil
}

// ValidQuantity checks a positive Kubernetes quantity such as 500m or 256Mi.
func ValidQuantity(quantity string) error {
	q, err := resource.ParseQuantity(quantity)
	if err != nil || len(quantity) > 32 {
		return errors.New("use a Kubernetes quantity such as 500m or 256Mi")
	}
	if q.Sign() <= 0 {
		return errors.New("use a quantity above zero")
	}
	return nil
}

// ValidEnv checks the name and the value of an environment variable.
func ValidEnv(name, value string) error {
	switch {
	case len(name) > 128 || !envName.MatchString(name):
		return errors.New("use letters, digits and underscores, no digit first, for the names of variables")
	case len(value) > MaxEnvValue:
		return fmt.Errorf("use at most %d bytes for the value of a variable", MaxEnvValue)
	case strings.ContainsRune(value, 0):
		return errors.New("leave the zero byte out of the value of a variable")
	}
	return nil
}

// ValidEnvCount checks how many variables there are.
func ValidEnvCount(n int) error {
	if n > MaxEnv {
		return fmt.Errorf("use at most %d variables", MaxEnv)
	}
	return nil
}

// ValidCode checks the size of a function's code.
func ValidCode(code string) error {
	if len(code) > MaxCode {
		return fmt.Errorf("use at most %d bytes of code", MaxCode)
	}
	return nil
}

// ValidPath checks the path of a route.
func ValidPath(path string) error {
	if len(path) > 512 || !routePath.MatchString(path) {
		return errors.New(`use a path that begins with "/", with "*" at its end at most`)
	}
	return nil
}
