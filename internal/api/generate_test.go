package api_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
)

// generator makes requests from the API's description.
type generator struct {
	*rand.Rand

	d *description
	// known are values that exist, by the name of the parameter or field.
	known map[string][]string
}

// request is one that a generator made.
type request struct {
	op      *operation
	path    string
	headers []string
	body    any
}

func (r request) String() string {
	body, _ := json.Marshal(r.body)
	if len(body) > 300 {
		body = append(body[:300], "…"...)
	}
	return fmt.Sprintf("%s %s %v %s", r.op.method, r.path, r.headers, body)
}

// request makes one; wild is how likely each part of it is to be wrong.
func (g *generator) request(op *operation, wild float64) request {
	r := request{op: op, path: op.path}
	query := url.Values{}
	for _, p := range op.Parameters {
		optional := !p.Required && g.Float64() < 0.7
		value := fmt.Sprint(g.value(p.Name, p.Schema, 0))
		if g.Float64() < wild {
			value = g.garbage()
		}
		switch {
		case p.In == "path":
			r.path = strings.Replace(r.path, "{"+p.Name+"}", url.PathEscape(value), 1)
		case optional:
		case p.In == "query":
			query.Set(p.Name, value)
		case p.In == "header" && printable(value):
			r.headers = append(r.headers, p.Name, value)
		}
	}
	if g.Float64() < wild/4 {
		query.Set("unheardOf", "1")
	}
	if query.Has("wait") {
		query.Set("timeout", g.pick("10ms", "30ms", "10ms", "nonsense", "-1s", "11m"))
	}
	if len(query) > 0 {
		r.path += "?" + query.Encode()
	}
	if schema := op.body(); schema != nil {
		r.body = g.value("", schema, 0)
		for range 3 {
			if g.Float64() < wild {
				r.body = g.spoil(r.body)
			}
		}
		if g.Float64() < wild/4 {
			r.headers = append(r.headers, "Content-Type", g.pick("text/plain", "application/xml", "", "application/json; charset=latin1"))
		}
	}
	return r
}

func printable(s string) bool {
	for _, c := range s {
		if c < 32 || c > 126 {
			return false
		}
	}
	return s != ""
}

func (g *generator) pick(from ...string) string { return from[g.IntN(len(from))] }

// values that fit where a schema alone does not say what does.
var fitting = map[string][]string{
	"region":   {"eu", "us"},
	"schedule": {"@hourly", "*/5 * * * *", "0 3 * * 1-5"},
	"timeZone": {"Europe/Berlin", "", "UTC"},
	"path":     {"/", "/a", "/a/b/*", "/c"},
	"domain":   {"api.example.org", "shop.example.net", "a.b.c.example.com"},
	"image":    {"shop/runtime:2", "", "registry.example.com:5000/a/b@sha256:" + strings.Repeat("0", 64)},
	"cpu":      {"250m", "1", ""},
	"memory":   {"128Mi", "1Gi", ""},
	"code":     {"return 1", "exports.f = () => 42"},
	"age":      {"10m", "0s"},
	"tenant":   {"default", "acme", ""},
	"If-Match": {"*", `"1"`, `"2"`, `"99"`},
	"cursor":   {""},
	"runtime":  {"javascript", "python3"},
	"reason":   {"because it is stuck"},
	"wait":     {"phase:Created", "phase:Creating", "settled", "gone"},
	"timeout":  {"10ms", "1s"},
}

// value makes a value that fits a schema.
func (g *generator) value(name string, s *schema, depth int) any {
	s = g.d.resolve(s)
	if s == nil || depth > 6 {
		return nil
	}
	if len(s.Enum) > 0 {
		return s.Enum[g.IntN(len(s.Enum))]
	}
	kind := s.Type
	if list, ok := kind.([]any); ok {
		kind = list[0]
	}
	switch kind {
	case "object":
		return g.object(s, depth)
	case "array":
		list := []any{}
		for range g.IntN(4) {
			list = append(list, g.value(name, s.Items, depth+1))
		}
		return list
	case "integer":
		low, high := 0.0, 100.0
		if s.Minimum != nil {
			low = *s.Minimum
		}
		if s.Maximum != nil {
			high = *s.Maximum
		}
		return int(low) + g.IntN(int(high-low)+1)
	case "boolean":
		return g.IntN(2) == 0
	}
	return g.text(name)
}

func (g *generator) object(s *schema, depth int) any {
	object := map[string]any{}
	for field, of := range s.Properties {
		needed := false
		for _, required := range s.Required {
			needed = needed || required == field
		}
		if needed || g.IntN(2) == 0 {
			object[field] = g.value(field, of, depth+1)
		}
	}
	if len(s.Properties) == 0 {
		for range g.IntN(3) {
			object[g.pick("A", "LOG_LEVEL", "b2")] = g.pick("1", "debug", "")
		}
	}
	return object
}

func (g *generator) text(name string) string {
	if known := g.known[name]; len(known) > 0 && g.Float64() < 0.85 {
		return g.pick(known...)
	}
	if values, ok := fitting[name]; ok {
		return g.pick(values...)
	}
	return g.pick("a", "b", "mobile", "web-2")
}

// garbage is text that nothing should choke on.
func (g *generator) garbage() string {
	return g.pick("", " ", "..", "%00", "\x00", "ünïcödé", "💥", "null", "-1", "1e999", "{}", "$where", "a.b", "'\";--",
		strings.Repeat("x", 300), "A", "zzzzz9", "true", "*", "\r\nX-Evil: 1", "[]", "0", "\xff\xfe")
}

// spoil makes something wrong in a body.
func (g *generator) spoil(body any) any {
	junk := []any{nil, true, 1e300, -1, 3.5, g.garbage(), []any{}, map[string]any{}, map[string]any{"$gt": ""},
		[]any{map[string]any{"path": nil}}, strings.Repeat("y", 5000)}
	object, ok := body.(map[string]any)
	if !ok || len(object) == 0 || g.IntN(6) == 0 {
		return junk[g.IntN(len(junk))]
	}
	keys := make([]string, 0, len(object))
	for key := range object {
		keys = append(keys, key)
	}
	key := keys[g.IntN(len(keys))]
	switch g.IntN(5) {
	case 0:
		delete(object, key)
	case 1:
		object[g.pick("extra", "$set", "_id", "phase", "State", "lockedAt", "generation")] = junk[g.IntN(len(junk))]
	case 2:
		object[key] = g.spoil(object[key])
	default:
		object[key] = junk[g.IntN(len(junk))]
	}
	return object
}
