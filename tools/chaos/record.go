package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lockstep-io/lockstep/internal/testrecord"
)

// call is a call of one process: its beginning, and its end if it had one.
type call struct {
	process string
	testrecord.Line
	end *testrecord.Line
}

// Outcomes of calls.
type outcome int

const (
	// unknown: the call failed, or its process was killed meanwhile. It may
	// have been made or not.
	unknown outcome = iota
	accepted
	refused
)

// outcome tells what became of a call, for one of its documents.
func (c *call) outcome(id string) outcome {
	switch {
	case c.end == nil || c.end.Error != "":
		return unknown
	case c.end.LockLost || slices.Contains(c.end.Lost, id):
		return refused
	}
	return accepted
}

// readRecords reads the records of all processes, in the order of time.
func readRecords(folder string) ([]*call, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.jsonl"))
	if err != nil {
		return nil, err
	}
	var all []*call
	for _, file := range files {
		calls, err := readRecord(file)
		if err != nil {
			return nil, err
		}
		all = append(all, calls...)
	}
	slices.SortStableFunc(all, func(a, b *call) int { return int(a.At - b.At) })
	return all, nil
}

func readRecord(file string) ([]*call, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	process := strings.TrimSuffix(filepath.Base(file), ".jsonl")
	var calls []*call
	open := map[int64]*call{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20)
	for n := 1; lines.Scan(); n++ {
		var line testrecord.Line
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", file, n, err)
		}
		if line.End {
			if c := open[line.Call]; c != nil {
				c.end = &line
				delete(open, line.Call)
			}
			continue
		}
		c := &call{process: process, Line: line}
		calls = append(calls, c)
		open[line.Call] = c
	}
	return calls, lines.Err()
}
