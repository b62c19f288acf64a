package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
)

// link is the line of one replica to one server. Everything goes through it.
type link struct {
	proxy *toxiproxy.Proxy
	down  bool
}

// links makes lines.
type links struct {
	server *toxiproxy.ApiServer
	all    []*link
}

func newLinks() *links {
	zerolog.SetGlobalLevel(zerolog.Disabled) // some toxics print, whatever the server's logger
	return &links{server: toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())}
}

func (l *links) to(name, address string) (*link, error) {
	line := &link{proxy: toxiproxy.NewProxy(l.server, name, "127.0.0.1:0", address)}
	if err := line.proxy.Start(); err != nil {
		return nil, fmt.Errorf("start the proxy %s: %w", name, err)
	}
	l.all = append(l.all, line)
	return line, nil
}

func (l *links) close() {
	for _, line := range l.all {
		line.proxy.Stop()
	}
}

func (l *link) address() string { return l.proxy.Listen }

// toxic is what a line does to what goes through it.
type toxic struct {
	Name       string         `json:"name"`
	Type       string         `json:"type"`
	Stream     string         `json:"stream"`
	Toxicity   float32        `json:"toxicity"`
	Attributes map[string]any `json:"attributes"`
}

// both puts a toxic on both directions.
func (l *link) both(kind string, toxicity float32, attributes map[string]any) error {
	for _, stream := range []string{"upstream", "downstream"} {
		text, err := json.Marshal(toxic{kind + "_" + stream, kind, stream, toxicity, attributes})
		if err != nil {
			return err
		}
		if _, err := l.proxy.Toxics.AddToxicJson(bytes.NewReader(text)); err != nil {
			return fmt.Errorf("toxic %s: %w", kind, err)
		}
	}
	return nil
}

// refuse closes all connections, and new ones at once.
func (l *link) refuse() error {
	l.down = true
	l.proxy.Stop()
	return nil
}

// swallow keeps connections open, and lets nothing through.
func (l *link) swallow() error { return l.both("timeout", 1, map[string]any{"timeout": 0}) }

// slow delays what goes through.
func (l *link) slow(latency, jitter time.Duration) error {
	return l.both("latency", 1, map[string]any{"latency": latency.Milliseconds(), "jitter": jitter.Milliseconds()})
}

// narrow lets little through at a time, in pieces.
func (l *link) narrow(kilobytes int) error {
	if err := l.both("bandwidth", 1, map[string]any{"rate": kilobytes}); err != nil {
		return err
	}
	return l.both("slicer", 1, map[string]any{"average_size": 200, "size_variation": 100, "delay": 200})
}

// lossy resets a part of the connections.
func (l *link) lossy(part float32, after time.Duration) error {
	return l.both("reset_peer", part, map[string]any{"timeout": after.Milliseconds()})
}

// heal makes the line whole.
func (l *link) heal() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	l.proxy.Toxics.ResetToxics(ctx)
	if !l.down {
		return nil
	}
	l.down = false
	return l.proxy.Start()
}
