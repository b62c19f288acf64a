package config

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
)

// redacted is shown in the place of a secret.
const redacted = "[redacted]"

// Secret is a text that is never shown: not by any verb of fmt, not in JSON,
// not in logs. Only [Secret.Reveal] gives it away.
//
// The text is behind a pointer, because fmt prints what unexported fields hold
// without asking their methods, but does not follow pointers within.
type Secret struct{ text *string }

// NewSecret hides a text.
func NewSecret(text string) Secret { return Secret{&text} }

// Reveal returns the text.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// Empty reports whether there is nothing to hide.
func (s Secret) Empty() bool { return s.Reveal() == "" }

// String tells only whether there is a text.
func (s Secret) String() string {
	if s.Empty() {
		return ""
	}
	return redacted
}

// Format implements [fmt.Formatter], for every verb alike.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// MarshalText implements [encoding.TextMarshaler], and so hides the text in
// JSON and YAML.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (s *Secret) UnmarshalText(text []byte) error {
	*s = NewSecret(string(text))
	return nil
}

// LogValue implements [slog.LogValuer].
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// String shows the regions as JSON without their secrets.
func (r Regions) String() string {
	data, err := json.Marshal(r)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// Format implements [fmt.Formatter], for every verb alike.
func (r Regions) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, r.String()) }

// MarshalJSON hides the regions' secrets.
func (r Regions) MarshalJSON() ([]byte, error) {
	type plain Regions // without this method
	shown := make(plain, len(r))
	for i, region := range r {
		region.RuntimeMongoURI = NewSecret(region.RuntimeMongoURI).String()
		shown[i] = region
	}
	return json.Marshal(shown)
}

// LogValue implements [slog.LogValuer].
func (r Regions) LogValue() slog.Value { return slog.StringValue(r.String()) }
