package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/lockstep-io/lockstep/internal/api"
	"github.com/lockstep-io/lockstep/internal/documents"
)

// served is an API on loopback.
type served struct {
	url    string
	client *http.Client
	server *http.Server
}

// serve serves the API of the documents.
func serve(ctx context.Context, docs *documents.Documents) (*served, error) {
	handler, err := api.New(api.Config{Documents: docs, Auth: api.Open{}, RateLimit: -1})
	if err != nil {
		return nil, err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	s := &served{
		url:    "http://" + listener.Addr().String(),
		client: &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 100}},
		server: &http.Server{Handler: handler, ReadHeaderTimeout: time.Second},
	}
	go func() { _ = s.server.Serve(listener) }()
	return s, nil
}

func (s *served) close() {
	_ = s.server.Close()
	s.client.CloseIdleConnections()
}

// request makes a request, and fails unless it is answered by the status.
func (s *served) request(ctx context.Context, method, path, body string, status int) error {
	request, err := http.NewRequestWithContext(ctx, method, s.url+path, bytes.NewBufferString(body))
	if err != nil {
		return err
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := s.client.Do(request)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	defer response.Body.Close() //nolint:errcheck // read to its end below
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != status {
		err = fmt.Errorf("%s %s: %s: %s", method, path, response.Status, text)
	}
	return err
}
