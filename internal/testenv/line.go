package testenv

import (
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// Line is a TCP line to a server that can be cut, frozen, and mended.
type Line struct {
	// Addr is where the line begins.
	Addr string
	to   string

	mu     sync.Mutex
	state  lineState
	change chan struct{} // closed when the state changes
	conns  map[net.Conn]struct{}
	wg     sync.WaitGroup
}

type lineState int

const (
	whole  lineState = iota
	cut              // connections are closed, new ones too
	frozen           // connections stay, and nothing comes through
)

// NewLine returns a line to the server at the address, which is closed when
// the test ends.
func NewLine(t testing.TB, to string) *Line {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &Line{Addr: listener.Addr().String(), to: to, change: make(chan struct{}), conns: map[net.Conn]struct{}{}}
	l.wg.Go(func() {
		for {
			in, err := listener.Accept()
			if err != nil {
				return
			}
			l.wg.Go(func() { l.carry(in) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		l.Cut()
		l.wg.Wait()
	})
	return l
}

// MongoLine returns a line to the server of a MongoDB URI, and the URI by
// which clients use it.
func MongoLine(t testing.TB, uri string) (line *Line, through string) {
	t.Helper()
	u, err := url.Parse(uri)
	if err != nil {
		t.Fatalf("%s is no URI of one host: %v", uri, err)
	}
	host, _, _ := strings.Cut(u.Host, ",")
	if !strings.Contains(host, ":") {
		host += ":27017"
	}
	line = NewLine(t, host)
	u.Host = line.Addr
	if u.Path == "" {
		u.Path = "/"
	}
	query := u.Query()
	query.Del("replicaSet")
	query.Set("directConnection", "true")
	u.RawQuery = query.Encode()
	return line, u.String()
}

// Cut closes all connections, and new ones as soon as they are made.
func (l *Line) Cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.set(cut)
	for c := range l.conns {
		_ = c.Close()
		delete(l.conns, c)
	}
}

// Freeze lets nothing through in either direction. What is sent arrives once
// the line is mended.
func (l *Line) Freeze() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.set(frozen)
}

// Mend makes the line whole.
func (l *Line) Mend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.set(whole)
}

func (l *Line) set(s lineState) {
	l.state = s
	close(l.change)
	l.change = make(chan struct{})
}

func (l *Line) carry(in net.Conn) {
	out, err := net.Dial("tcp", l.to)
	if err != nil || !l.keep(in, out) {
		_ = in.Close()
		if out != nil {
			_ = out.Close()
		}
		return
	}
	l.wg.Go(func() { l.copy(out, in) })
	l.copy(in, out)
}

// keep remembers the connections, unless the line is cut.
func (l *Line) keep(conns ...net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state == cut {
		return false
	}
	for _, c := range conns {
		l.conns[c] = struct{}{}
	}
	return true
}

// copy carries one direction, and ends the other with it.
func (l *Line) copy(to, from net.Conn) {
	defer func() {
		_ = to.Close()
		_ = from.Close()
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.conns, to)
		delete(l.conns, from)
	}()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		l.pass()
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// pass returns once the line is not frozen.
func (l *Line) pass() {
	for {
		l.mu.Lock()
		state, change := l.state, l.change
		l.mu.Unlock()
		if state != frozen {
			return
		}
		<-change
	}
}
