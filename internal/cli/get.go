package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lockstep-io/lockstep/internal/resource"
)

func getCommand(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "get KIND [ID]",
		Short: "Show documents: one, those of a gateway, or those of all gateways",
		Long: `Kinds are ` + strings.Join(kindNames(), ", ") + `; plurals and short forms do as well.
Ids are those of the documents: a gateway's is vn8ofl, its stage's vn8ofl-dev,
its client app's vn8ofl-dev-web.`,
		Example: `  lockstep get gateways
  lockstep get gateway vn8ofl -o yaml
  lockstep get apps --gateway vn8ofl
  lockstep get stages --stuck            # of all gateways; for operators
  lockstep get gateways --phase Starting --watch`,
		Args:              between(1, 2),
		ValidArgsFunction: completeDocuments(env),
	}
	remoteFlags(env, cmd)
	format := outputFlag(cmd, formats...)
	q := queryFlags(env, cmd)
	watch := cmd.Flags().BoolP("watch", "w", false, "go on showing what changes, until Ctrl-C")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		v, err := viewOf(env, cmd, args, q)
		if err != nil {
			return err
		}
		if *watch {
			return v.watch(cmd.Context(), *format)
		}
		docs, err := v.read(cmd.Context())
		if err != nil {
			return err
		}
		if v.id != "" {
			return env.show(v.kind, docs[0], *format)
		}
		if len(docs) == 0 && (*format == asTable || *format == asWide) {
			env.notef("There is no %s%s.", v.kind.name, v.query.words())
			return nil
		}
		return env.showAll(v.columns(), docs, *format)
	}
	return cmd
}

// query is which documents of a kind are wanted.
type query struct {
	gateway, state, phase, region, name, environment, lockedBy, olderThan string
	stuck                                                                 bool
}

func queryFlags(env *Env, cmd *cobra.Command) *query {
	q, f := &query{}, cmd.Flags()
	f.StringVarP(&q.gateway, "gateway", "g", "", "only those of this gateway")
	f.StringVar(&q.state, "state", "", "only those of which this is wanted")
	f.StringVar(&q.phase, "phase", "", "only those that have come this far")
	f.StringVar(&q.region, "region", "", "only gateways of this region")
	f.StringVar(&q.name, "name", "", "only gateways of this name")
	f.StringVar(&q.environment, "environment", "", "only client apps of this environment")
	f.StringVar(&q.lockedBy, "locked-by", "", "only those that this replica is working on")
	f.StringVar(&q.olderThan, "older-than", "", "only those that have been in their phase for longer, such as 10m")
	f.BoolVar(&q.stuck, "stuck", false, "only those that will not come any further by themselves")
	completeFlags(env, cmd)
	return q
}

// across reports whether only the list of all gateways' documents can answer.
func (q *query) across() bool { return q.stuck || q.lockedBy != "" || q.olderThan != "" }

func (q *query) words() string {
	if *q == (query{}) {
		return ""
	}
	return " of that sort"
}

// view is what a command shows: one document, or a list.
type view struct {
	env    *Env
	remote *remote
	kind   *kind
	id     string
	query  *query
	path   string
	values url.Values
}

func viewOf(env *Env, cmd *cobra.Command, args []string, q *query) (*view, error) {
	k, err := kindOf(args[0])
	if err != nil {
		return nil, err
	}
	v := &view{env: env, kind: k, query: q}
	if len(args) > 1 {
		if *q != (query{}) {
			return nil, usage("%s names one document: leave out the flags that choose among several", args[1])
		}
		v.id = args[1]
		v.path, err = k.item(v.id)
	} else {
		err = v.choose()
	}
	if err != nil {
		return nil, err
	}
	v.remote, err = connect(env, cmd)
	return v, err
}

// choose finds the list that answers the query.
func (v *view) choose() error {
	q, k := v.query, v.kind
	isGateway := k.Kind == resource.KindApiGateway
	fits := []struct {
		flag, value string
		fit         bool
	}{
		{"region", q.region, isGateway && !q.across()},
		{"name", q.name, isGateway && !q.across()},
		{"environment", q.environment, k.Kind == resource.KindClientApp && q.gateway != "" && !q.across()},
	}
	for _, f := range fits {
		if f.value != "" && !f.fit {
			return usage("--%s cannot be used for this list of %ss: leave it out", f.flag, k.name)
		}
	}
	v.values = url.Values{"limit": {"500"}}
	set := func(name, value string) {
		if value != "" {
			v.values.Set(name, value)
		}
	}
	set("state", q.state)
	set("phase", q.phase)
	switch {
	case isGateway && !q.across() && q.gateway == "":
		v.path = gatewaysPath
		set("region", q.region)
		set("name", q.name)
	case q.gateway != "" && k.list != "" && !q.across() && q.state == "" && q.phase == "":
		if _, err := kinds[0].item(q.gateway); err != nil {
			return fmt.Errorf("--gateway: %w", err)
		}
		v.path = gatewaysPath + "/" + q.gateway + k.list
		set("environment", q.environment)
	default:
		v.path = "/v1/documents/" + string(k.Kind)
		set("gatewayId", q.gateway)
		set("lockedBy", q.lockedBy)
		set("age", q.olderThan)
		if q.stuck {
			set("stuck", "true")
		}
	}
	return nil
}

// columns are those of the list's table.
func (v *view) columns() []column {
	if strings.HasPrefix(v.path, "/v1/documents/") {
		return acrossColumns
	}
	return v.kind.columns
}

// read asks for all that is to be shown, page by page.
func (v *view) read(ctx context.Context) ([]*document, error) {
	if v.id != "" {
		d, err := v.remote.document(ctx, v.kind, v.id)
		return []*document{d}, err
	}
	docs := []*document{}
	values := v.values
	for {
		raw, err := v.remote.call(ctx, http.MethodGet, v.path, values, nil)
		if err != nil {
			return nil, err
		}
		var page struct {
			Items      []*document `json:"items"`
			NextCursor string      `json:"nextCursor"`
		}
		if err := json.Unmarshal(raw, &page); err != nil {
			return nil, fmt.Errorf("read the server's answer: %w", err)
		}
		docs = append(docs, page.Items...)
		if page.NextCursor == "" {
			return docs, nil
		}
		values = cloneWith(v.values, "cursor", page.NextCursor)
	}
}

func cloneWith(values url.Values, name, value string) url.Values {
	clone := url.Values{name: {value}}
	for key, v := range values {
		clone[key] = v
	}
	return clone
}

// document reads one document by its own path; if its gateway is gone, by that
// of all documents, where orphans are found.
func (r *remote) document(ctx context.Context, k *kind, id string) (*document, error) {
	path, err := k.item(id)
	if err != nil {
		return nil, err
	}
	d := &document{}
	err = r.read(ctx, path, d)
	var p *problem
	if errors.As(err, &p) && p.Status == http.StatusNotFound && k.path != nil {
		if r.read(ctx, documentPath(k, id), d) == nil {
			return d, nil
		}
	}
	return d, err
}

func documentPath(k *kind, id string) string {
	return "/v1/documents/" + string(k.Kind) + "/" + id
}

// read gets and decodes an answer.
func (r *remote) read(ctx context.Context, path string, into any) error {
	raw, err := r.call(ctx, http.MethodGet, path, nil, nil)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("read the server's answer to GET %s: %w", path, err)
	}
	return nil
}
