package telemetry

import (
	"fmt"
	"io"
	"log/slog"

	"go.uber.org/zap"
	"go.uber.org/zap/exp/zapslog"
	"go.uber.org/zap/zapcore"
)

// Formats of a log.
const (
	JSON    = "json"
	Console = "console"
)

// NewLogger returns a logger that writes to out. The level is one of debug,
// info, warn and error. Stack traces are for panics, which are errors: where a
// warning came from is said in its message.
func NewLogger(out io.Writer, level, format string) (*zap.Logger, error) {
	least, err := zapcore.ParseLevel(level)
	if err != nil {
		return nil, fmt.Errorf("log level: %w", err)
	}
	encoder, err := newEncoder(format)
	if err != nil {
		return nil, err
	}
	core := zapcore.NewCore(encoder, zapcore.Lock(zapcore.AddSync(out)), least)
	return zap.New(core, zap.ErrorOutput(zapcore.Lock(zapcore.AddSync(out)))), nil
}

func newEncoder(format string) (zapcore.Encoder, error) {
	config := zap.NewProductionEncoderConfig()
	config.TimeKey = "time"
	config.EncodeTime = zapcore.RFC3339NanoTimeEncoder
	config.EncodeDuration = zapcore.StringDurationEncoder
	switch format {
	case JSON:
		return zapcore.NewJSONEncoder(config), nil
	case Console:
		config.EncodeTime = zapcore.TimeEncoderOfLayout("15:04:05.000")
		config.EncodeLevel = zapcore.CapitalLevelEncoder
		return zapcore.NewConsoleEncoder(config), nil
	}
	return nil, fmt.Errorf("log format %q: use %s or %s", format, JSON, Console)
}

// Slog returns a logger of the standard library that writes to the same log,
// for packages that know no other.
func Slog(logger *zap.Logger) *slog.Logger {
	// Traces of errors come with the error where one helps (a step's panic).
	none := zapslog.AddStacktraceAt(slog.LevelError + 100)
	return slog.New(zapslog.NewHandler(logger.Core(), none, zapslog.WithName(logger.Name())))
}
