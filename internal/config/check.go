package config

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/connstring"
)

// testingVar must be 1 for options that are for tests only.
const testingVar = Prefix + "TESTING"

var (
	replicaName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,126}[A-Za-z0-9])?$`)
	dnsLabel    = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
)

// checkValues adds a mistake for each value that is wrong by itself or beside
// another. What a region is made of is checked with the region.
func checkValues(s *settings, mistakes *Mistakes) {
	wrong := func(field, value, fix string) {
		*mistakes = append(*mistakes, Mistake{optionFor(field).name(), value, fix})
	}
	checkTable(reflect.ValueOf(s).Elem(), mistakes)
	if uri := s.MongoDB.URI; !uri.Empty() && !validURI(uri.Reveal()) {
		wrong("URI", "is not the address of a MongoDB", uriFix)
	}
	if strings.ContainsAny(s.MongoDB.Database, `/\. "$*<>:|?`) || len(s.MongoDB.Database) > 63 {
		wrong("Database", is(s.MongoDB.Database), `use at most 63 characters, none of /\. "$*<>:|?`)
	}
	if !validAddress(s.HTTP.Listen) {
		wrong("Listen", is(s.HTTP.Listen), "use HOST:PORT, or :PORT for all interfaces")
	}
	if s.Replica != "" && !replicaName.MatchString(s.Replica) {
		wrong("Replica", is(s.Replica), "use at most 128 letters, digits, dots, dashes and underscores")
	}
	if s.Engine.Batch > 0 && s.Engine.Batch < s.Engine.Workers {
		wrong("Batch", is(strconv.Itoa(s.Engine.Batch)), "use at least the number of workers ("+strconv.Itoa(s.Engine.Workers)+")")
	}
	if s.Engine.LockTimeout > 0 && s.Engine.LockTimeout < 2*s.Engine.Interval {
		wrong("LockTimeout", is(s.Engine.LockTimeout.String()), "use at least twice the interval ("+s.Engine.Interval.String()+")")
	}
	checkAuth(s.Auth, wrong)
}

func checkAuth(a Auth, wrong func(field, value, fix string)) {
	if issuer := a.OIDCIssuer; issuer != "" {
		if u, err := url.Parse(issuer); err != nil || u.Host == "" || !(u.Scheme == "https" || u.Scheme == "http" && local(u.Hostname())) {
			wrong("OIDCIssuer", is(issuer), "use the https:// address under which it publishes /.well-known/openid-configuration")
		}
		if a.OIDCAudience == "" {
			wrong("OIDCAudience", notSet, "name the audience that the issuer's tokens must be for")
		}
	} else if a.OIDCAudience != "" {
		wrong("OIDCIssuer", notSet, "name the issuer, or leave out the audience")
	}
}

// local hosts may do without HTTPS, for tests.
func local(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// checkTable checks what the tags say. The options of a region are left out:
// they have no effect where there is a file, and are checked with the region
// where there is none.
func checkTable(v reflect.Value, mistakes *Mistakes) {
	for field, value := range v.Fields() {
		name := field.Tag.Get("env")
		switch {
		case name == "-" || field.Type == reflect.TypeFor[oneRegion]():
		case name == "":
			checkTable(value, mistakes)
		default:
			checkField(optionOf(field, name), value, mistakes)
		}
	}
}

// checkField checks one value by its tags, unless it was not even parsed.
func checkField(o Option, value reflect.Value, mistakes *Mistakes) {
	if slices.ContainsFunc(*mistakes, func(m Mistake) bool { return m.Where == o.name() }) {
		return
	}
	switch shown := shown(value); {
	case o.Required && shown == "":
		*mistakes = append(*mistakes, Mistake{o.name(), notSet, o.fix})
	case !o.allows(value, shown):
		*mistakes = append(*mistakes, Mistake{o.name(), is(shown), o.bounds()})
	}
}

// allows reports whether a value is within the option's bounds.
func (o Option) allows(value reflect.Value, shown string) bool {
	switch {
	case len(o.oneOf) > 0:
		return slices.Contains(o.oneOf, shown)
	case o.min == "":
		return true
	case value.Type() == reflect.TypeFor[time.Duration]():
		return between(time.Duration(value.Int()), duration(o.min), duration(o.max))
	}
	return between(value.Int(), number(o.min), number(o.max))
}

// shown is a value as messages show it.
func shown(value reflect.Value) string { return fmt.Sprint(value.Interface()) }

func between[T cmp.Ordered](v, least, most T) bool { return least <= v && v <= most }

// duration and number read the table's own bounds.
func duration(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		panic("config: a bound in the table of options is wrong: " + err.Error())
	}
	return d
}

func number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		panic("config: a bound in the table of options is wrong: " + err.Error())
	}
	return n
}

// checkTesting refuses what is for tests where none are run.
func checkTesting(s *settings, environ map[string]string, mistakes *Mistakes) {
	if environ[testingVar] == "1" {
		return
	}
	for field, value := range reflect.ValueOf(s.Test).Fields() {
		if !value.IsZero() {
			*mistakes = append(*mistakes, Mistake{optionFor(field.Name).name(), is(shown(value)),
				"leave it out: it is for tests, which set " + testingVar + "=1"})
		}
	}
}

const uriFix = "use mongodb://[USER:PASSWORD@]HOST[:PORT][,…]/[?OPTIONS] (or mongodb+srv://), with special characters of the password percent-encoded"

// validURI does not say what is wrong: the parser's words quote the address,
// and the address holds a password. An address with +srv is looked up only
// when it is used.
func validURI(uri string) bool {
	if rest, ok := strings.CutPrefix(uri, "mongodb+srv://"); ok {
		return rest != "" && !strings.HasPrefix(rest, "/")
	}
	_, err := connstring.ParseAndValidate(uri)
	return err == nil
}

func validAddress(address string) bool {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n <= 65535
}

// validDomain reports whether a name can be that of a host, in the form that
// Kubernetes wants.
func validDomain(name string) bool {
	labels := strings.Split(name, ".")
	return len(name) <= 253 && !slices.ContainsFunc(labels, func(l string) bool { return !dnsLabel.MatchString(l) })
}
