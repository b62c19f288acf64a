package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// WatchEvent is a document that has changed, or is no more.
type WatchEvent struct {
	Kind string
	ID   string
	// Document is as it is now; nil if it is gone.
	Document *Document
}

// WatchGateway shows a gateway and all beneath it: each document as it is, and
// each that changes, until all are gone or the context ends. When the line is
// lost it is taken up again, and documents that have not changed may be shown
// again. It stops at the first error that is more than that.
func (c *Client) WatchGateway(ctx context.Context, gateway string) iter.Seq2[*WatchEvent, error] {
	return func(yield func(*WatchEvent, error) bool) {
		w := &watch{client: c, gateway: gateway, live: map[[2]string]bool{}}
		for {
			more, err := w.follow(ctx, func(e *WatchEvent) bool { return yield(e, nil) })
			if !more {
				return
			}
			if err == nil {
				err = sleep(ctx, watchPause)
			}
			if err != nil {
				yield(nil, err)
				return
			}
		}
	}
}

// watchPause is before a lost line is taken up again.
const watchPause = 200 * time.Millisecond

type watch struct {
	client  *Client
	gateway string
	live    map[[2]string]bool // documents that are there, by kind and id
	begun   bool
}

// errStop says that whoever watches wants no more.
var errStop = errors.New("stop")

// follow follows one stream to its end. It reports whether there may be more.
func (w *watch) follow(ctx context.Context, yield func(*WatchEvent) bool) (more bool, err error) {
	res, err := w.client.persist(ctx, &request{
		method: http.MethodGet, path: []string{v1, gateways, w.gateway, "watch"}, query: url.Values{}, header: http.Header{},
	})
	if IsNotFound(err) && w.begun {
		w.gone(yield) // while the line was lost
		return false, nil
	}
	if err != nil {
		return true, err
	}
	w.begun = true
	defer res.Body.Close() //nolint:errcheck // read to its end or given up
	err = events(res.Body, func(name string, data []byte) error {
		e, err := w.event(name, data)
		if err == nil && !yield(e) {
			return errStop
		}
		return err
	})
	var syntax *json.SyntaxError
	switch {
	case errors.Is(err, errStop):
		return false, nil
	case ctx.Err() != nil:
		return true, ctx.Err()
	case errors.As(err, &syntax):
		return true, err
	}
	return len(w.live) > 0, nil // the line was lost, or the server has ended the stream
}

// gone tells of all documents that they are no more.
func (w *watch) gone(yield func(*WatchEvent) bool) {
	for name := range w.live {
		if !yield(&WatchEvent{Kind: name[0], ID: name[1]}) {
			return
		}
	}
}

func (w *watch) event(name string, data []byte) (*WatchEvent, error) {
	var doc struct {
		Kind string `json:"kind"`
		Document
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, fmt.Errorf("decode a watch's event: %w", err)
	}
	e := &WatchEvent{Kind: doc.Kind, ID: doc.ID}
	if name == "gone" {
		delete(w.live, [2]string{e.Kind, e.ID})
		return e, nil
	}
	w.live[[2]string{e.Kind, e.ID}] = true
	e.Document = &doc.Document
	return e, nil
}

// events reads server-sent events until the stream ends.
func events(stream io.Reader, handle func(name string, data []byte) error) error {
	lines := bufio.NewScanner(stream)
	lines.Buffer(nil, 16<<20)
	var name string
	var data []byte
	for lines.Scan() {
		field, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case lines.Text() == "" && data != nil:
			if err := handle(name, data); err != nil {
				return err
			}
			name, data = "", nil
		case field == "event":
			name = value
		case field == "data":
			data = append(data, value...)
		}
	}
	return lines.Err()
}
