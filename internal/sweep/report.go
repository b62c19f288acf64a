package sweep

import (
	"slices"
	"time"

	"github.com/lockstep-io/lockstep/internal/driver/kube"
	"github.com/lockstep-io/lockstep/internal/resource"
)

// Sort is the sort of thing that an orphan is.
type Sort string

// The sorts.
const (
	SortDocument Sort = "document"
	SortObject   Sort = "object"
	SortDatabase Sort = "database"
)

// Outcome is what a removal has done about an orphan.
type Outcome string

// The outcomes.
const (
	// Found: nothing has been tried.
	Found Outcome = "found"
	// Removed: it was seen to be gone.
	Removed Outcome = "removed"
	// Asked: its own service was asked to dismantle it.
	Asked Outcome = "asked"
	// Waiting: it is going, or its turn has not come; Note says what for.
	Waiting Outcome = "waiting"
	// Kept: it is left alone; Note says why.
	Kept Outcome = "kept"
	// Failed: removing it failed; Note says how.
	Failed Outcome = "failed"
)

// Orphan is something whose owner is gone.
type Orphan struct {
	Sort Sort `json:"sort"`
	// Region is where it is; empty for documents.
	Region    string `json:"region,omitempty"`
	GatewayID string `json:"gatewayId"`
	// Name says what it is: "Stage vn8ofl-dev", "deployment vn8ofl/vn8ofl-runtime".
	Name string `json:"name"`
	// Reason says why it is an orphan.
	Reason string `json:"reason"`
	// Status is how it is, in a word or two.
	Status string `json:"status,omitempty"`
	// CreatedAt is not known of databases.
	CreatedAt time.Time `json:"createdAt,omitzero"`
	Outcome   Outcome   `json:"outcome"`
	Note      string    `json:"note,omitempty"`

	// lost are the documents whose absence makes it an orphan.
	lost []document
	// child is the document that it is, object the object.
	child  document
	object kube.ObjectRef
}

// document names a document.
type document struct {
	kind resource.Kind
	id   string
}

func (d document) String() string { return string(d.kind) + " " + d.id }

// key is the same in every look for the same thing, and no other.
func (o *Orphan) key() string {
	return string(o.Sort) + "\x00" + o.Region + "\x00" + o.Name + "\x00" + string(o.object.UID)
}

// with returns the orphan with an outcome.
func (o Orphan) with(outcome Outcome, note string) Orphan {
	o.Outcome, o.Note = outcome, note
	return o
}

// Report is what a sweeper has found.
type Report struct {
	// At is the database's time when the look began.
	At time.Time `json:"at"`
	// Orphans are sorted by gateway, and within it in the order of removal.
	Orphans []Orphan `json:"orphans"`

	// unread are the names of regions that could not be read completely;
	// documents is the name of what is in none.
	unread map[string]bool
}

// documents stands among the unread regions for the documents.
const documents = ""

// Removable counts the orphans that a removal would act on.
func (r *Report) Removable() int {
	n := 0
	for i := range r.Orphans {
		if r.Orphans[i].Outcome != Kept {
			n++
		}
	}
	return n
}

// Gateways are the gateways that the removable orphans belonged to, sorted.
func (r *Report) Gateways() []string {
	var ids []string
	for i := range r.Orphans {
		if r.Orphans[i].Outcome != Kept {
			ids = append(ids, r.Orphans[i].GatewayID)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// Count counts the orphans by outcome.
func (r *Report) Count() map[Outcome]int {
	counts := map[Outcome]int{}
	for i := range r.Orphans {
		counts[r.Orphans[i].Outcome]++
	}
	return counts
}
