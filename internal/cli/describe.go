package cli

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/pkg/client"
	"github.com/lockstep-io/lockstep/pkg/engine"
)

func describeCommand(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "describe KIND ID",
		Short:             "Show all there is to know of one document: settings, where it stands, and its history",
		Args:              exactly(2),
		ValidArgsFunction: completeDocuments(env),
	}
	remoteFlags(env, cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		k, err := kindOf(args[0])
		if err != nil {
			return err
		}
		path, err := k.item(args[1])
		if err != nil {
			return err
		}
		if path += "/explain"; k.Kind != resource.KindApiGateway {
			path = documentPath(k, args[1]) + "/explain"
		}
		r, err := connect(env, cmd)
		if err != nil {
			return err
		}
		d, err := r.document(cmd.Context(), k, args[1])
		if err != nil {
			return err
		}
		why, err := r.explanation(cmd.Context(), k, path)
		if err != nil {
			return err
		}
		env.printf("%s", env.described(k, d))
		if k.Kind == resource.KindApiGateway {
			env.printf("%s", r.reachedAt(cmd.Context(), d))
		}
		env.printf("\n%s", env.explained(why))
		env.printf("%s", r.beyond(cmd.Context(), env, k, d))
		env.printf("%s%s", env.history(d), env.audit(d))
		return nil
	}
	return cmd
}

// lifecycleFields are shown in words of their own, or by the explanation.
var lifecycleFields = []string{
	"id", "gatewayId", "state", "generation", "phase", "phaseAt", "step", "stepAt", "waitingFor", "waitingSince",
	"observedState", "observedGeneration", "lockedAt", "lockedBy", "lockToken", "resyncAt", "attempts", "lastError",
	"history", "audit", "createdAt", "updatedAt", "condition", "summary",
}

// described is a document's settings and where it stands.
func (e *Env) described(k *kind, d *document) string {
	var b strings.Builder
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%-22s%s\n", name+":", value)
		}
	}
	line(string(k.Kind), d.ID)
	if gateway := d.text("gatewayId"); gateway != d.ID {
		line("Gateway", gateway)
	}
	for _, f := range settings("", d.fields) {
		line(f.name, f.value)
	}
	line("State", fmt.Sprintf("%s (generation %d)", d.State, d.Generation))
	line("Phase", fmt.Sprintf("%s, for %s (since %s)", e.paint(moodOfPhase(&d.Meta), string(d.Phase)), age(d.PhaseAt), clock(d.PhaseAt)))
	line("Created", clock(d.CreatedAt))
	return b.String()
}

type setting struct{ name, value string }

// settings are the fields of a document that users choose, flattened.
func settings(prefix string, fields map[string]any) []setting {
	var all []setting
	for name, value := range fields {
		if prefix == "" && slices.Contains(lifecycleFields, name) {
			continue
		}
		switch v := value.(type) {
		case map[string]any:
			all = append(all, settings(prefix+name+".", v)...)
		case []any:
			for i, item := range v {
				all = append(all, setting{fmt.Sprintf("%s[%d]", prefix+name, i), compact(item)})
			}
		case string:
			all = append(all, setting{prefix + name, strings.ReplaceAll(v, "\n", "\n"+strings.Repeat(" ", 22))})
		default:
			all = append(all, setting{prefix + name, fmt.Sprint(v)})
		}
	}
	sort.Slice(all, func(i, j int) bool { return all[i].name < all[j].name })
	return all
}

// compact is an item of a list in one line: "methods [GET], path /hello".
func compact(item any) string {
	fields, ok := item.(map[string]any)
	if !ok {
		return fmt.Sprint(item)
	}
	var parts []string
	for name, value := range fields {
		parts = append(parts, fmt.Sprintf("%s %v", name, value))
	}
	sort.Strings(parts)
	return strings.Join(parts, ", ")
}

func clock(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format("2006-01-02 15:04:05 MST")
}

// history is what the document has been through, oldest first.
func (e *Env) history(d *document) string {
	if len(d.History) == 0 {
		return ""
	}
	t := newTable(e, "at", "what", "took", "by")
	for _, h := range d.History {
		t.row(clock(h.At), happened(h), took(h.Took), h.By)
	}
	return "\n" + e.paint(strong, "History:") + "\n" + t.String()
}

// audit is who asked for what, oldest first.
func (e *Env) audit(d *document) string {
	entries, _ := d.fields["audit"].([]any)
	if len(entries) == 0 {
		return ""
	}
	t := newTable(e, "at", "who", "asked for")
	for _, entry := range entries {
		fields, _ := entry.(map[string]any)
		of := func(name string) string {
			if fields[name] == nil {
				return ""
			}
			return fmt.Sprint(fields[name])
		}
		at, _ := time.Parse(time.RFC3339, of("at"))
		asked := []string{of("action"), of("state"), of("fields"), of("reason")}
		t.row(clock(at), of("by"), strings.Join(slices.DeleteFunc(asked, func(s string) bool { return s == "" }), " "))
	}
	return "\n" + e.paint(strong, "Asked for:") + "\n" + t.String()
}

func happened(h engine.HistoryEntry) string {
	if h.Step != "" {
		return fmt.Sprintf("%s: %s", h.From, h.Step)
	}
	return fmt.Sprintf("%s -> %s", h.From, h.To)
}

func took(ms int64) string { return (time.Duration(ms) * time.Millisecond).String() }

// beyond is what the server knows of a document that is not in it: the versions
// of a function, and where a custom domain leads. What cannot be read is left
// out.
func (r *remote) beyond(ctx context.Context, env *Env, k *kind, d *document) string {
	path, err := k.item(d.ID)
	if err != nil {
		return ""
	}
	switch k.Kind {
	case resource.KindCloudFunction:
		var list struct {
			Items []client.FunctionVersion `json:"items"`
		}
		if r.read(ctx, path+"/versions", &list) != nil {
			return ""
		}
		t := newTable(env, "version", "runtime", "bytes", "until")
		for _, v := range list.Items {
			until := clock(v.Until)
			if v.Current {
				until = "now"
			}
			t.row(strconv.FormatInt(v.Version, 10), v.Runtime, strconv.Itoa(v.Bytes), until)
		}
		return "\n" + env.paint(strong, "Versions:") + "\n" + t.String()
	case resource.KindRuntimeDomain:
		var check client.DomainCheck
		if d.text("customDomain") == "" || r.read(ctx, path+"/custom-domain/check", &check) != nil {
			return ""
		}
		return fmt.Sprintf("\n%s\n%s\n", env.paint(strong, "DNS, as the server sees it:"), check.Advice)
	}
	return ""
}

// reachedAt names the URLs at which a gateway is called.
func (r *remote) reachedAt(ctx context.Context, gw *document) string {
	urls, err := r.urls(ctx, gw)
	if err != nil || len(urls) == 0 {
		return ""
	}
	var b strings.Builder
	for _, u := range urls {
		fmt.Fprintf(&b, "%-22s%s\n", u.name+":", u.url)
	}
	return b.String()
}

// address is where an environment is called.
type address struct{ name, url string }

// urls are where the gateway's environments are called.
func (r *remote) urls(ctx context.Context, gw *document) ([]address, error) {
	regions, err := r.regions(ctx)
	if err != nil {
		return nil, err
	}
	scheme := "http://"
	if i := slices.IndexFunc(regions, func(x region) bool { return x.Name == gw.text("region") }); i >= 0 && regions[i].TLS {
		scheme = "https://"
	}
	var environments struct {
		Items []*document `json:"items"`
	}
	path := gatewaysPath + "/" + gw.ID
	if err := r.read(ctx, path+"/environments", &environments); err != nil {
		return nil, err
	}
	var urls []address
	for _, name := range resource.Environments {
		for _, env := range environments.Items {
			if env.text("name") == name {
				urls = append(urls, address{name, scheme + env.text("host") + "/"})
			}
		}
	}
	domain := &document{}
	if r.read(ctx, path+"/runtime-domain", domain) == nil && domain.text("customDomainReady") != "" {
		urls = append(urls, address{"custom domain", "https://" + domain.text("customDomainReady") + "/"})
	}
	return urls, nil
}
