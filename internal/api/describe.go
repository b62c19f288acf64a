package api

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-chi/chi/v5"
)

//go:embed docs.html
var docsPage string

// describe adds the routes that huma does not serve, and describes them too:
// the description names every route.
func (a *api) describe(router chi.Router) error {
	if a.Metrics != nil {
		router.Method(http.MethodGet, "/metrics", a.Metrics)
		a.mention("/metrics", "getMetrics", "Metrics, for Prometheus", "text/plain")
	}
	a.mention("/openapi.json", "getOpenAPI", "This description", "application/json")
	a.mention("/docs", "getDocs", "This description, for people", "text/html")
	description, err := json.MarshalIndent(a.huma.OpenAPI(), "", "  ")
	if err != nil {
		return fmt.Errorf("write the OpenAPI description: %w", err)
	}
	page, err := docs(a.huma.OpenAPI())
	if err != nil {
		return fmt.Errorf("write the documentation page: %w", err)
	}
	router.Get("/openapi.json", serve("application/json", append(description, '\n')))
	router.Get("/docs", serve("text/html; charset=utf-8", page))
	return nil
}

func (a *api) mention(path, id, summary, mediaType string) {
	a.huma.OpenAPI().AddOperation(&huma.Operation{
		OperationID: id, Method: http.MethodGet, Path: path, Summary: summary, Tags: []string{"Health"},
		Responses: map[string]*huma.Response{"200": {
			Description: "OK", Content: map[string]*huma.MediaType{mediaType: {Schema: &huma.Schema{}}},
		}},
	})
}

func serve(mediaType string, body []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", mediaType)
		w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
		_, _ = w.Write(body)
	}
}

// The page's model.
type (
	docsModel struct {
		API      *huma.OpenAPI
		Sections []docsSection
		Schemas  []docsSchema
		Codes    []CodeInfo
	}
	docsSection struct {
		Name       string
		Operations []*huma.Operation
	}
	docsSchema struct {
		Name   string
		Schema *huma.Schema
		Fields []docsField
	}
	docsField struct {
		Name     string
		Required bool
		Schema   *huma.Schema
	}
)

// docs renders the description as a page of its own, without scripts and
// without anything from elsewhere.
func docs(description *huma.OpenAPI) ([]byte, error) {
	model := docsModel{API: description, Codes: Codes}
	sections := map[string][]*huma.Operation{}
	for _, path := range sortedKeys(description.Paths) {
		for _, op := range operationsOf(description.Paths[path]) {
			sections[op.Tags[0]] = append(sections[op.Tags[0]], op)
		}
	}
	for _, name := range sortedKeys(sections) {
		model.Sections = append(model.Sections, docsSection{name, sections[name]})
	}
	schemas := description.Components.Schemas.Map()
	for _, name := range sortedKeys(schemas) {
		s := docsSchema{Name: name, Schema: schemas[name]}
		for _, field := range sortedKeys(schemas[name].Properties) {
			s.Fields = append(s.Fields, docsField{field, slices.Contains(schemas[name].Required, field), schemas[name].Properties[field]})
		}
		model.Schemas = append(model.Schemas, s)
	}
	page, err := template.New("docs").Funcs(template.FuncMap{"kind": schemaKind, "ref": refName, "keys": sortedKeys[*huma.Response]}).Parse(docsPage)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = page.Execute(&out, model)
	return out.Bytes(), err
}

func operationsOf(item *huma.PathItem) []*huma.Operation {
	var ops []*huma.Operation
	for _, op := range []*huma.Operation{item.Get, item.Post, item.Put, item.Patch, item.Delete} {
		if op != nil {
			ops = append(ops, op)
		}
	}
	return ops
}

// schemaKind says in a few words what a value is.
func schemaKind(s *huma.Schema) string {
	switch {
	case s == nil:
		return ""
	case s.Ref != "":
		return refName(s)
	case s.Type == huma.TypeArray:
		return "list of " + schemaKind(s.Items)
	case len(s.Enum) > 0:
		words := make([]string, len(s.Enum))
		for i, v := range s.Enum {
			words[i] = fmt.Sprint(v)
		}
		return strings.Join(words, " | ")
	case s.Format != "" && s.Type == huma.TypeString:
		return s.Format
	}
	return s.Type
}

// refName is the name of the schema that another refers to.
func refName(s *huma.Schema) string {
	if s == nil {
		return ""
	}
	if s.Type == huma.TypeArray {
		return refName(s.Items)
	}
	return s.Ref[strings.LastIndex(s.Ref, "/")+1:]
}
