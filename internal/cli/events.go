package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/pkg/engine"
)

// event is something that happened to a gateway or beneath it.
type event struct {
	At     time.Time     `json:"at"`
	Sort   string        `json:"sort"`
	Kind   resource.Kind `json:"kind"`
	ID     string        `json:"id"`
	By     string        `json:"by"`
	From   engine.Phase  `json:"from"`
	To     engine.Phase  `json:"to"`
	Step   string        `json:"step"`
	TookMS int64         `json:"tookMs"`
	Action string        `json:"action"`
	State  engine.State  `json:"state"`
	Fields []string      `json:"fields"`
	Reason string        `json:"reason"`
}

func eventsCommand(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "events [gateway] ID",
		Short:             "Show what happened to a gateway and all beneath it: who asked for what, and what came of it",
		Example:           "  lockstep events vn8ofl --since 1h\n  lockstep events vn8ofl --watch",
		Args:              between(1, 2),
		ValidArgsFunction: completeIDs(env, kinds[0]),
	}
	remoteFlags(env, cmd)
	format := outputFlag(cmd, asTable, asJSON, asYAML)
	since := cmd.Flags().Duration("since", 0, "only those of this last time, such as 30m")
	watch := cmd.Flags().BoolP("watch", "w", false, "go on showing what happens, until Ctrl-C")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 2 {
			if k, err := kindOf(args[0]); err != nil || k.Kind != resource.KindApiGateway {
				return usage("events are a gateway's: use `lockstep events ID` with the id of a gateway")
			}
			args = args[1:]
		}
		path, err := kinds[0].item(args[0])
		if err != nil {
			return err
		}
		if *watch && *format != asTable {
			return usage("--watch shows lines: leave --output out")
		}
		r, err := connect(env, cmd)
		if err != nil {
			return err
		}
		l := &eventLog{env: env, remote: r, path: path + "/events"}
		if *since > 0 {
			l.since = time.Now().Add(-*since)
		}
		if *watch {
			return l.watch(cmd.Context())
		}
		return l.show(cmd.Context(), *format)
	}
	return cmd
}

// eventLog reads events, those that were read before left out.
type eventLog struct {
	env    *Env
	remote *remote
	path   string
	since  time.Time
}

// read reads all events of the time asked for, page by page.
func (l *eventLog) read(ctx context.Context) ([]json.RawMessage, error) {
	all := []json.RawMessage{}
	values := url.Values{"limit": {"500"}}
	if !l.since.IsZero() {
		values.Set("since", l.since.UTC().Format(time.RFC3339Nano))
	}
	for {
		raw, err := l.remote.call(ctx, http.MethodGet, l.path, values, nil)
		if err != nil {
			return nil, err
		}
		var page struct {
			Items      []json.RawMessage `json:"items"`
			NextCursor string            `json:"nextCursor"`
		}
		if err := json.Unmarshal(raw, &page); err != nil {
			return nil, fmt.Errorf("read the server's answer: %w", err)
		}
		all = append(all, page.Items...)
		if page.NextCursor == "" {
			return all, nil
		}
		values = cloneWith(values, "cursor", page.NextCursor)
	}
}

func (l *eventLog) show(ctx context.Context, format string) error {
	raw, err := l.read(ctx)
	if err != nil {
		return err
	}
	if format != asTable {
		return l.env.encodeValue(map[string]any{"items": raw}, format)
	}
	events, err := decodeEvents(raw)
	if err != nil {
		return err
	}
	t := newTable(l.env, "at", "document", "what", "by")
	for _, e := range events {
		t.row(clock(e.At), string(e.Kind)+" "+e.ID, e.String(), e.By)
	}
	t.print()
	return nil
}

// watch prints what happens, each event as a line.
func (l *eventLog) watch(ctx context.Context) error {
	for {
		raw, err := l.read(ctx)
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // Ctrl-C is how a watch ends
		case ExitCode(err) == Unreachable:
			l.env.notef("%s; trying again", err)
		case err != nil:
			return err
		}
		events, err := decodeEvents(raw)
		if err != nil {
			return err
		}
		for _, e := range events {
			l.env.printf("%s  %s %s  %s  by %s\n", clock(e.At), e.Kind, e.ID, e, e.By)
			l.since = e.At
		}
		if pause(ctx, watchPause) != nil {
			return nil //nolint:nilerr // the user has seen enough
		}
	}
}

func decodeEvents(raw []json.RawMessage) ([]event, error) {
	events := make([]event, len(raw))
	for i, one := range raw {
		if err := json.Unmarshal(one, &events[i]); err != nil {
			return nil, fmt.Errorf("read the server's answer: %w", err)
		}
	}
	return events, nil
}

// String is what happened, in a line.
func (e event) String() string {
	switch e.Sort {
	case "moved":
		return fmt.Sprintf("%s -> %s after %s", e.From, e.To, took(e.TookMS))
	case "stepped":
		return fmt.Sprintf("%s: ✓ %s (%s)", e.From, e.Step, took(e.TookMS))
	}
	words := []string{e.Action}
	if e.State != "" {
		words = append(words, string(e.State))
	}
	if len(e.Fields) > 0 {
		words = append(words, strings.Join(e.Fields, ", "))
	}
	if e.Reason != "" {
		words = append(words, "because: "+e.Reason)
	}
	return strings.Join(words, " ")
}
