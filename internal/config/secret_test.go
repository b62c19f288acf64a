package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

// Every way in which Go programs print things, on the whole configuration.
func TestSecretsAreNeverShown(t *testing.T) {
	c, err := Load([]string{"--mongodb-uri=mongodb://u:hunter2@db", "--runtime-mongodb-uri=mongodb://u:hunter2@rt"}, system("", least...))
	if err != nil {
		t.Fatal(err)
	}
	if c.MongoDB.URI.Reveal() != "mongodb://u:hunter2@db" || c.Regions[0].RuntimeMongoURI != "mongodb://u:hunter2@rt" {
		t.Fatal("the secrets did not arrive")
	}
	var shown bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x"} {
		for _, value := range []any{c, &c, c.MongoDB, c.MongoDB.URI, c.Regions, struct{ inner MongoDB }{c.MongoDB}} {
			fmt.Fprintf(&shown, verb+"\n", value)
		}
	}
	data, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	shown.Write(data)
	for _, handler := range []slog.Handler{slog.NewJSONHandler(&shown, nil), slog.NewTextHandler(&shown, nil)} {
		slog.New(handler).Info("", "config", c, "uri", c.MongoDB.URI, "regions", c.Regions)
	}
	for _, form := range []string{"hunter2", fmt.Sprintf("%x", "hunter2")} {
		if strings.Contains(shown.String(), form) {
			t.Errorf("a password is shown: %s", shown.String())
		}
	}
	if !strings.Contains(string(data), redacted) {
		t.Errorf("a secret should be shown as %s: %s", redacted, data)
	}
}

func TestEmptySecretIsShownAsEmpty(t *testing.T) {
	if got := fmt.Sprintf("%s%v", Secret{}, NewSecret("")); got != "" {
		t.Errorf("got %q", got)
	}
}
