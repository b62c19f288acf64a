package config

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	sigsjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/lockstep-io/lockstep/internal/resource"
)

// Regions are the clusters that gateways can live in. Printed or marshalled,
// they do not show their secrets.
type Regions []resource.Region

// loadRegions returns the regions of the file, or the one that the options
// describe. Both at once is a mistake: one of them would have no effect.
func loadRegions(s *settings, given map[string]string, readFile func(string) ([]byte, error), mistakes *Mistakes) Regions {
	if s.File.RegionsFile == "" {
		return s.Region.load(s.MongoDB.URI, mistakes)
	}
	for _, o := range options {
		if _, ok := given[o.Env]; ok && o.region != "" {
			*mistakes = append(*mistakes, Mistake{o.name(), "is set beside --regions", "describe the regions in the file or by options, not both"})
		}
	}
	where := optionFor("RegionsFile").name()
	data, err := readFile(s.File.RegionsFile)
	if err != nil {
		*mistakes = append(*mistakes, Mistake{where, is(s.File.RegionsFile), unreadable(err)})
		return nil
	}
	regions, wrong := DecodeRegions(data)
	for _, m := range wrong {
		m.Where = strings.TrimSpace(s.File.RegionsFile + ": " + m.Where)
		*mistakes = append(*mistakes, m)
	}
	return regions
}

func unreadable(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "there is no such file: create it, or correct the path"
	case errors.Is(err, fs.ErrPermission):
		return "it may not be read: give the service read permission on it"
	}
	return "it cannot be read: " + err.Error()
}

// load returns the region that the options describe.
func (r oneRegion) load(mongo Secret, mistakes *Mistakes) Regions {
	region := resource.Region{
		Name: r.RegionName, Kubeconfig: r.Kubeconfig, IngressClass: r.IngressClass, DomainSuffix: r.DomainSuffix,
		TLS: r.TLS, WildcardSecret: r.WildcardSecret, ClusterIssuer: r.ClusterIssuer,
		RuntimeMongoURI: cmp.Or(r.RuntimeMongoURI.Reveal(), mongo.Reveal()),
		RuntimeImage:    r.RuntimeImage, RuntimeReplicas: r.RuntimeReplicas, ApisixAcceptance: r.ApisixAcceptance,
	}
	for _, p := range checkRegion(region) {
		o := options[slices.IndexFunc(options, func(o Option) bool { return o.region == p.field })]
		parsed := !slices.ContainsFunc(*mistakes, func(m Mistake) bool { return m.Where == o.name() })
		// Without --mongodb-uri, that is what is missing.
		inherited := p.field == "runtimeMongoUri" && r.RuntimeMongoURI.Empty()
		if parsed && !inherited {
			fix := p.fix
			if p.problem == notSet {
				fix = cmp.Or(o.fix, fix)
			}
			*mistakes = append(*mistakes, Mistake{o.name(), p.problem, fix})
		}
	}
	return Regions{region}
}

// DecodeRegions decodes a list of regions in YAML or JSON. It is strict:
// fields that a region does not have, and fields given twice, are mistakes.
func DecodeRegions(data []byte) (Regions, Mistakes) {
	const form = "write a YAML or JSON list of regions: - name: eu"
	converted, err := yaml.YAMLToJSONStrict(data)
	if err != nil {
		// The parser's own words can quote the file, and the file holds secrets.
		return nil, Mistakes{{"", "is not YAML or JSON" + line(err), form}}
	}
	var items []json.RawMessage
	if err := json.Unmarshal(converted, &items); err != nil || len(items) == 0 {
		return nil, Mistakes{{"", "holds no list of regions", form}}
	}
	var regions Regions
	var mistakes Mistakes
	names := map[string]bool{}
	for i, item := range items {
		region, wrong := decodeRegion(item)
		where := fmt.Sprintf("region %d", i+1)
		if region.Name != "" {
			where = fmt.Sprintf("region %q", clip(region.Name))
		}
		if names[region.Name] && region.Name != "" {
			wrong = append(wrong, problem{"name", "is that of another region", "give each region a name of its own"})
		}
		names[region.Name] = true
		for _, p := range wrong {
			mistakes = append(mistakes, Mistake{strings.TrimSpace(where + " " + p.field), p.problem, p.fix})
		}
		regions = append(regions, region)
	}
	if len(mistakes) > 0 {
		return nil, mistakes
	}
	return regions, nil
}

var lineNumber = regexp.MustCompile(`line (\d+)`)

// line is where the YAML parser found the error, if it says so.
func line(err error) string {
	if found := lineNumber.FindString(err.Error()); found != "" {
		return " (" + found + ")"
	}
	return ""
}

// problem is a mistake in one field of a region.
type problem struct{ field, problem, fix string }

var unknownField = regexp.MustCompile(`^(unknown|duplicate) field "(.*)"$`)

// decodeRegion decodes and checks one region. Fields that are missing take
// the defaults that the options of the one region have.
func decodeRegion(item json.RawMessage) (resource.Region, []problem) {
	region := resource.Region{RuntimeReplicas: 1, ApisixAcceptance: resource.AcceptedByController}
	if !bytes.HasPrefix(bytes.TrimSpace(item), []byte("{")) {
		return region, []problem{{"", "is not a mapping", "write its fields: name: eu"}}
	}
	unknown, err := sigsjson.UnmarshalStrict(item, &region)
	if err != nil {
		return region, []problem{wrongType(err)}
	}
	var problems []problem
	for _, err := range unknown {
		field := err.Error()
		if m := unknownField.FindStringSubmatch(field); m != nil {
			field = m[2]
		}
		problems = append(problems, problem{clip(field), "is no field of a region", "use " + strings.Join(regionFields, ", ")})
	}
	return region, append(problems, checkRegion(region)...)
}

// wrongType says which field has a value of another type, without the value.
func wrongType(err error) problem {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return problem{wrong.Field, "is a " + wrong.Value, "use a " + wrong.Type.String()}
	}
	return problem{"", "cannot be decoded", "use the fields " + strings.Join(regionFields, ", ")}
}
