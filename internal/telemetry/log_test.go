package telemetry

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
)

func TestJSONLog(t *testing.T) {
	var out bytes.Buffer
	logger, err := NewLogger(&out, "info", JSON)
	if err != nil {
		t.Fatal(err)
	}
	logger.Debug("hidden")
	logger.Named("api").Warn("slow", zap.Duration("took", 1500*time.Millisecond))

	var line map[string]any
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	if line["level"] != "warn" || line["msg"] != "slow" || line["logger"] != "api" || line["took"] != "1.5s" {
		t.Errorf("got %v", line)
	}
	if _, err := time.Parse(time.RFC3339Nano, line["time"].(string)); err != nil {
		t.Error(err)
	}
}

// The engine logs by slog; its lines end up in the same log, at their level,
// with their attributes.
func TestSlog(t *testing.T) {
	var out bytes.Buffer
	logger, err := NewLogger(&out, "warn", JSON)
	if err != nil {
		t.Fatal(err)
	}
	log := Slog(logger.Named("engine")).With(slog.String("kind", "Order"))
	log.Info("hidden")
	log.Error("store failed", slog.Int("documents", 3), slog.Any("error", errors.New("boom")))

	var line map[string]any
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	for key, want := range map[string]any{
		"level": "error", "logger": "engine", "msg": "store failed", "kind": "Order", "documents": 3.0, "error": "boom",
	} {
		if line[key] != want {
			t.Errorf("%s is %v, want %v", key, line[key], want)
		}
	}
	if _, traced := line["stacktrace"]; traced {
		t.Error("a trace of the logger's own frames helps nobody")
	}
}

func TestConsoleLog(t *testing.T) {
	var out bytes.Buffer
	logger, err := NewLogger(&out, "debug", Console)
	if err != nil {
		t.Fatal(err)
	}
	logger.Debug("seen")
	if got := out.String(); !strings.Contains(got, "DEBUG") || !strings.Contains(got, "seen") {
		t.Errorf("got %q", got)
	}
}

func TestWrongLog(t *testing.T) {
	if _, err := NewLogger(nil, "loud", JSON); err == nil {
		t.Error("no error of a wrong level")
	}
	if _, err := NewLogger(nil, "info", "xml"); err == nil {
		t.Error("no error of a wrong format")
	}
}
