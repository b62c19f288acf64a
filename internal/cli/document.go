package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/lockstep-io/lockstep/pkg/engine"
)

// document is one document as the server gave it: its lifecycle, and all its
// fields by name, whatever its kind.
type document struct {
	engine.Meta

	fields map[string]any
	raw    json.RawMessage
}

// UnmarshalJSON keeps what was read.
func (d *document) UnmarshalJSON(raw []byte) error {
	d.raw = append(json.RawMessage{}, raw...)
	if err := json.Unmarshal(raw, &d.Meta); err != nil {
		return err
	}
	return json.Unmarshal(raw, &d.fields)
}

// MarshalJSON gives back what was read.
func (d *document) MarshalJSON() ([]byte, error) { return d.raw, nil }

// text is a field, by its dotted name, as text; empty if it is not there.
func (d *document) text(name string) string {
	var value any = d.fields
	for part := range strings.SplitSeq(name, ".") {
		fields, ok := value.(map[string]any)
		if !ok {
			return ""
		}
		value = fields[part]
	}
	if value == nil {
		return ""
	}
	return fmt.Sprint(value)
}

// condition is how it stands with the document, where the server says so.
func (d *document) condition() engine.Condition { return engine.Condition(d.text("condition")) }

// pausedBy begins the name of the holder of a paused document.
const pausedBy = "paused by "

// waitingFor says what delays the document; empty if nothing does.
func (d *document) waitingFor() string {
	switch {
	case strings.HasPrefix(d.LockedBy, pausedBy):
		return d.LockedBy
	case d.LastError != nil:
		return fmt.Sprintf("error (attempt %d): %s", d.Attempts, d.LastError.Message)
	case d.WaitingFor != "":
		return d.WaitingFor
	}
	return ""
}

// age says how long ago a time was: 12s, 4m10s, 3h5m, 12d.
func age(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return span(time.Since(at))
}

func span(d time.Duration) string {
	d = max(0, d.Round(time.Second))
	switch {
	case d < time.Hour:
		return strings.TrimSuffix(d.String(), "m0s") + map[bool]string{true: "m"}[d >= time.Minute && d%time.Minute == 0]
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh%dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd", int(d.Hours())/24)
}
