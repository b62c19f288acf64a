package stack

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Every process of a stack carries these in its environment; they say whose it is whatever became of pidfiles. They are
// never exported to a shell, so nothing else carries them.
const (
	stackMarker     = "LOCKSTEP_STACK"
	componentMarker = "LOCKSTEP_COMPONENT"
)

// Process is a live process of a stack.
type Process struct {
	PID       int
	Component string
	Stopped   bool // by SIGSTOP
	Since     time.Time
}

// processes are the live processes of the stack, oldest first. PostgreSQL's children overwrite their environment; they are
// known by their standard error, the component's log.
func (s *Stack) processes() []Process {
	var found []Process
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		if name := s.componentOf(pid); name != "" {
			if p, ok := inspect(pid); ok {
				p.Component = name
				found = append(found, p)
			}
		}
	}
	slices.SortStableFunc(found, func(a, b Process) int { return a.Since.Compare(b.Since) })
	return found
}

// processesOf are those of some components. Of one component, the first is the one that was started, unless it died before
// its children.
func (s *Stack) processesOf(components ...string) []Process {
	return slices.DeleteFunc(s.processes(), func(p Process) bool { return !slices.Contains(components, p.Component) })
}

// componentOf names the component of this stack that the process belongs to, if any.
func (s *Stack) componentOf(pid int) string {
	if raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)); err == nil {
		env := bytes.Split(raw, []byte{0})
		has := func(entry string) bool {
			return slices.ContainsFunc(env, func(e []byte) bool { return string(e) == entry })
		}
		if has(stackMarker + "=" + s.Dir) {
			for _, entry := range env {
				if name, ok := strings.CutPrefix(string(entry), componentMarker+"="); ok {
					return name
				}
			}
		}
	}
	if target, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/2", pid)); err == nil {
		target = strings.TrimSuffix(target, " (deleted)")
		if filepath.Dir(target) == s.path("log") {
			return strings.TrimSuffix(filepath.Base(target), ".log")
		}
	}
	return ""
}

// inspect reads what /proc tells about a process; a zombie is not alive.
func inspect(pid int) (Process, bool) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return Process{}, false
	}
	// The second field is the name in brackets, which may itself hold spaces and brackets.
	fields := strings.Fields(string(raw[bytes.LastIndexByte(raw, ')')+1:]))
	const state, startTicks = 0, 19
	if len(fields) <= startTicks || fields[state] == "Z" || fields[state] == "X" {
		return Process{}, false
	}
	ticks, _ := strconv.ParseInt(fields[startTicks], 10, 64)
	const ticksPerSecond = 100
	since := bootTime().Add(time.Duration(ticks) * time.Second / ticksPerSecond)
	return Process{PID: pid, Stopped: fields[state] == "T", Since: since}, true
}

func bootTime() time.Time {
	var uptime unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &uptime) != nil {
		return time.Time{}
	}
	return time.Now().Add(-time.Duration(uptime.Nano()))
}
