package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"go.mongodb.org/mongo-driver/v2/bson"
	"golang.org/x/term"

	"github.com/lockstep-io/lockstep/internal/documents"
	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/pkg/engine"
)

// refresh is how often the documents are read.
const refresh = 150 * time.Millisecond

// row is what is known of one document.
type row struct {
	kind resource.Kind
	doc  *resource.Header
	gone time.Time
}

// board watches all documents and shows where each stands: as a table that is
// drawn again and again on a terminal, and as a line for each change elsewhere.
type board struct {
	docs *documents.Documents
	live bool

	mu     sync.Mutex
	rows   map[string]*row
	titles []string
	drawn  int
}

func newBoard(docs *documents.Documents) *board {
	return &board{docs: docs, live: term.IsTerminal(int(os.Stdout.Fd())), rows: map[string]*row{}}
}

// watch reads the documents until the returned function is called.
func (b *board) watch(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		ticker := time.NewTicker(refresh)
		defer ticker.Stop()
		for {
			b.read(ctx)
			b.draw()
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
		}
	})
	return func() { cancel(); wg.Wait() }
}

func (b *board) read(ctx context.Context) {
	for _, kind := range resource.Kinds {
		store, err := b.docs.Headers(kind)
		if err != nil {
			continue
		}
		docs, err := store.Find(ctx, bson.D{})
		if err != nil {
			return // the demo itself reports servers that fail
		}
		b.update(kind, docs)
	}
}

// update takes in what was read of one kind.
func (b *board) update(kind resource.Kind, docs []*resource.Header) {
	b.mu.Lock()
	defer b.mu.Unlock()
	present := map[string]bool{}
	for _, doc := range docs {
		key := string(kind) + "/" + doc.ID
		present[key] = true
		before := b.rows[key]
		b.rows[key] = &row{kind: kind, doc: doc}
		if !b.live && (before == nil || place(before.doc) != place(doc)) {
			fmt.Printf("  %s  %-14s %-16s %s\n", time.Now().Format("15:04:05.000"), kind, doc.ID, place(doc))
		}
	}
	for key, r := range b.rows {
		if r.kind == kind && !present[key] && r.gone.IsZero() {
			r.gone = time.Now()
			if !b.live {
				fmt.Printf("  %s  %-14s %-16s gone\n", r.gone.Format("15:04:05.000"), kind, r.doc.ID)
			}
		}
	}
}

// place says where a document stands.
func place(doc *resource.Header) string {
	s := fmt.Sprintf("%s / %s", doc.State, doc.Phase)
	if doc.Step != "" {
		s += " · " + doc.Step
	}
	if waiting := waitingFor(doc); waiting != "" {
		s += " · waits for " + waiting
	}
	return s
}

func waitingFor(doc *resource.Header) string {
	switch {
	case doc.LastError != nil:
		return "another try after: " + clip(doc.LastError.Message)
	default:
		return clip(doc.WaitingFor)
	}
}

func clip(s string) string {
	if len(s) > 70 {
		return strings.ToValidUTF8(s[:70], "") + "…"
	}
	return s
}

// title announces what happens next.
func (b *board) title(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	text := fmt.Sprintf(format, args...)
	b.titles = append(b.titles, text)
	if !b.live {
		fmt.Printf("\n%s\n", text)
	}
}

// draw shows the table on a terminal, over the one before.
func (b *board) draw() {
	if !b.live {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	text := b.table()
	if b.drawn > 0 {
		fmt.Printf("\x1b[%dA\x1b[J", b.drawn)
	}
	fmt.Println(text)
	b.drawn = strings.Count(text, "\n") + 1
}

// print shows the table once.
func (b *board) print() {
	b.mu.Lock()
	defer b.mu.Unlock()
	fmt.Println(b.table())
}

func (b *board) table() string {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	if width, _, err := term.GetSize(int(os.Stdout.Fd())); err == nil {
		// A row that wraps would be drawn over wrongly.
		t.SetAllowedRowLength(width)
	}
	if n := len(b.titles); n > 0 {
		t.SetTitle("%s", b.titles[n-1])
	}
	t.AppendHeader(table.Row{"document", "id", "state", "phase", "step", "waiting for", "locked by"})
	for _, r := range b.sorted() {
		if r.gone.IsZero() {
			t.AppendRow(table.Row{r.kind, r.doc.ID, r.doc.State, r.doc.Phase, r.doc.Step, waitingFor(r.doc), r.doc.LockedBy})
		}
	}
	return t.Render()
}

// sorted returns the rows gateway by gateway, each gateway's own first.
func (b *board) sorted() []*row {
	rows := make([]*row, 0, len(b.rows))
	for _, r := range b.rows {
		rows = append(rows, r)
	}
	slices.SortFunc(rows, func(a, b *row) int {
		return cmp.Or(
			cmp.Compare(a.doc.GatewayID, b.doc.GatewayID),
			slices.Index(resource.Kinds, a.kind)-slices.Index(resource.Kinds, b.kind),
			cmp.Compare(a.doc.ID, b.doc.ID))
	})
	return rows
}

// gateways are the ids of all gateways seen.
func (b *board) gateways() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var ids []string
	for _, r := range b.sorted() {
		if r.kind == resource.KindApiGateway {
			ids = append(ids, r.doc.ID)
		}
	}
	return ids
}

// timelines shows what each document has been through. The last entries are
// those of its last reading: a document that is gone cannot be asked.
func (b *board) timelines() {
	b.mu.Lock()
	defer b.mu.Unlock()
	fmt.Println("\nWhat each document has been through (transitions, with the replica that made them):")
	for _, r := range b.sorted() {
		fmt.Printf("  %s %s\n", r.kind, r.doc.ID)
		for _, h := range r.doc.History {
			if h.Step == "" {
				fmt.Printf("    %s  %-9s -> %-9s after %-8s by %s\n", h.At.Local().Format("15:04:05.000"), h.From, h.To,
					(time.Duration(h.Took) * time.Millisecond).String(), h.By)
			}
		}
		if !r.gone.IsZero() {
			fmt.Printf("    %s  gone\n", r.gone.Format("15:04:05.000"))
		}
	}
}

// byReplica shows how much each replica did.
func (b *board) byReplica(names []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	moves, steps := map[string]int{}, map[string]int{}
	for _, r := range b.rows {
		for _, h := range r.doc.History {
			count(moves, steps, h)
		}
	}
	fmt.Println("\nWhat each replica did (as recorded in the documents' histories):")
	for _, name := range names {
		fmt.Printf("  %-10s %3d transitions, %3d checkpoints\n", name, moves[name], steps[name])
	}
}

func count(moves, steps map[string]int, h engine.HistoryEntry) {
	if h.Step == "" {
		moves[h.By]++
	} else {
		steps[h.By]++
	}
}
