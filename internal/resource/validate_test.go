package resource_test

import (
	"strings"
	"testing"
	"time"

	"github.com/robfig/cron/v3"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/lockstep-io/lockstep/internal/resource"
)

func TestValid(t *testing.T) {
	name := func(s string) error { return resource.ValidName(s, resource.MaxChildName) }
	env := func(s string) error { return resource.ValidEnv(s, "") }
	for _, tc := range []struct {
		what     string
		valid    func(string) error
		yes, not []string
	}{
		{"name", name, []string{"a", "web-2", strings.Repeat("a", 40)}, []string{"", "A", "1a", "a-", "-a", "a_b", "a.b", strings.Repeat("a", 41)}},
		{"domain", resource.ValidDomain, []string{"a.example.org", "example.org", "xn--bcher-kva.example", "1.example.org"},
			[]string{"", "localhost", "*.example.org", "a..b", "10.0.0.1", "::1", "-a.org", "a.org.", "A.org", "bücher.example", strings.Repeat("a.", 130) + "org"}},
		{"schedule", resource.ValidSchedule, []string{"* * * * *", "0 3 * * 1-5", "@hourly", "@every 90s"},
			[]string{"", "often", "* * * *", "* * * * * *", "61 * * * *", "TZ=UTC * * * * *", "CRON_TZ=UTC @daily", "@every x"}},
		{"zone", resource.ValidTimeZone, []string{"", "UTC", "Europe/Berlin"}, []string{"Mars/Olympus", "Local", "../etc/passwd"}},
		{"image", resource.ValidImage, []string{"a", "a/b:1", "r.example.com:5000/a/b@sha256:" + strings.Repeat("0", 64)}, []string{"", "A b", "a:", "a@sha256:0", "/a", "a//"}},
		{"quantity", resource.ValidQuantity, []string{"1", "500m", "256Mi", "1.5"}, []string{"", "0", "-1", "much", "1 Gi"}},
		{"env", env, []string{"A", "_a1"}, []string{"", "1A", "a-b", "a.b", "a b"}},
		{"path", resource.ValidPath, []string{"/", "/a/b", "/a/*", "/a%20b"}, []string{"", "a", "/a b", "/*/a", "/\n", "/" + strings.Repeat("a", 512)}},
	} {
		for _, s := range tc.yes {
			if err := tc.valid(s); err != nil {
				t.Errorf("%s %q: %v", tc.what, s, err)
			}
		}
		for _, s := range tc.not {
			if err := tc.valid(s); err == nil {
				t.Errorf("%s %q is accepted", tc.what, s)
			}
		}
	}
}

// FuzzNames checks that what is accepted makes valid names of Kubernetes
// objects.
func FuzzNames(f *testing.F) {
	f.Add("web", "api.example.org")
	f.Fuzz(func(t *testing.T, name, domain string) {
		if resource.ValidName(name, resource.MaxChildName) == nil {
			if bad := validation.IsDNS1123Label(resource.ConsumerName("vn8ofl", "staging", name)); len(bad) > 0 {
				t.Errorf("name %q: %v", name, bad)
			}
		}
		if resource.ValidDomain(domain) == nil {
			if bad := validation.IsDNS1123Subdomain(domain); len(bad) > 0 {
				t.Errorf("domain %q: %v", domain, bad)
			}
		}
	})
}

// FuzzSchedules checks that what is accepted can be scheduled.
func FuzzSchedules(f *testing.F) {
	f.Add("*/5 * * * *")
	f.Add("@every 1h")
	f.Fuzz(func(t *testing.T, schedule string) {
		began := time.Now()
		if resource.ValidSchedule(schedule) != nil {
			return
		}
		parsed, err := cron.ParseStandard(schedule)
		if err != nil {
			t.Fatal(err)
		}
		parsed.Next(time.Unix(0, 0))
		if took := time.Since(began); took > time.Second {
			t.Fatalf("%q took %s", schedule, took)
		}
	})
}
