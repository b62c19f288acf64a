package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lockstep-io/lockstep/pkg/client"
)

func shardsCommand(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "shards",
		Short: "Show the live replicas, and which documents fall to each",
		Long: `Documents are divided into shards by their ids, and the shards among the live
replicas: each claims first what falls to it, and the rest a tick later. While
one replica lives nothing is divided, and all falls to it. For operators.

The replica that answers says what it sees; one that has just begun or died is
seen by the others some seconds later. A replica counts as live for 8 seconds
after its last heartbeat.`,
		Args:              exactly(0),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	remoteFlags(env, cmd)
	format := outputFlag(cmd, asTable, asWide, asJSON, asYAML)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		r, err := connect(env, cmd)
		if err != nil {
			return err
		}
		return env.showShards(cmd.Context(), r, *format)
	}
	return cmd
}

func (e *Env) showShards(ctx context.Context, r *remote, format string) error {
	raw, err := r.call(ctx, http.MethodGet, "/v1/shards", nil, nil)
	if err != nil {
		return err
	}
	if format == asJSON || format == asYAML {
		return e.encode(raw, format)
	}
	var seen client.Shards
	if err := json.Unmarshal(raw, &seen); err != nil {
		return fmt.Errorf("read the server's answer: %w", err)
	}
	titles := []string{"replica", "since", "heartbeat", "shards", "which"}
	if format == asWide {
		titles = []string{"replica", "since", "heartbeat", "shards", "joined", "which"}
	}
	t := newTable(e, titles...)
	for _, m := range seen.Items {
		row := []string{m.Name, span(seen.At.Sub(m.Since)), span(seen.At.Sub(m.SeenAt)) + " ago", strconv.Itoa(len(m.Shards))}
		if format == asWide {
			row = append(row, m.Since.UTC().Format(time.DateTime+" UTC"))
		}
		t.row(append(row, ranges(m.Shards))...)
	}
	t.print()
	e.printf("%s\n", shardsInWords(&seen))
	return nil
}

// shardsInWords says whether documents are divided, and how calm that is.
func shardsInWords(seen *client.Shards) string {
	moved := fmt.Sprintf("%s changed hands since %s began", hasOrHave(seen.Moved), seen.SeenBy)
	switch len(seen.Items) {
	case 0:
		return "Sharding is off: this server does not divide its documents."
	case 1:
		return fmt.Sprintf("Sharding is off: %s is the only live replica, and all documents fall to it. %s.", seen.Items[0].Name, moved)
	}
	return fmt.Sprintf("%s among %s. %s.", plural(seen.Count, "shard"), plural(len(seen.Items), "replica"), moved)
}

func hasOrHave(shards int) string {
	if shards == 1 {
		return "1 shard has"
	}
	return fmt.Sprintf("%d shards have", shards)
}

// ranges writes sorted numbers shortly: 0-3 7 9-10.
func ranges(sorted []int) string {
	var parts []string
	for i := 0; i < len(sorted); {
		j := i
		for j+1 < len(sorted) && sorted[j+1] == sorted[j]+1 {
			j++
		}
		part := strconv.Itoa(sorted[i])
		if j > i {
			part += "-" + strconv.Itoa(sorted[j])
		}
		parts, i = append(parts, part), j+1
	}
	return strings.Join(parts, " ")
}
