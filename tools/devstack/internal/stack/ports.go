package stack

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// The ports of a stack are a block that starts at its base.
const (
	portFerret1 = iota
	portFerret2
	portFerretAuth
	portPostgres
	portEtcd
	portEtcdPeer
	portAPIServer
	portControllerManager
	portScheduler
	portKwok
	portCertManager
	portCount

	// DefaultPortBase is MongoDB's own port; the blocks of other stacks follow at this distance.
	DefaultPortBase = 27017
	portDistance    = 20
	portBlocks      = 50
)

func (s *Stack) addr(port int) string { return net.JoinHostPort("127.0.0.1", s.port(port)) }
func (s *Stack) port(port int) string { return strconv.Itoa(s.PortBase + port) }

// choosePorts keeps the block the stack has, takes the one asked for, or looks for a free one.
func (s *Stack) choosePorts(asked int) error {
	if s.PortBase != 0 {
		if asked != 0 && asked != s.PortBase {
			return fmt.Errorf("stack %s has its ports from %d; take it down with --purge to move it", s.Name, s.PortBase)
		}
		return nil
	}
	taken := s.othersPorts()
	if asked != 0 {
		for base, name := range taken {
			if asked < base+portCount && base < asked+portCount {
				return fmt.Errorf("ports from %d overlap with those of stack %s, from %d", asked, name, base)
			}
		}
		s.PortBase = asked
		return nil
	}
	if s.Name == "default" {
		s.PortBase = DefaultPortBase
		return nil
	}
	for block := 1; block <= portBlocks; block++ {
		base := DefaultPortBase + block*portDistance
		if _, ok := taken[base]; !ok && allFree(base) {
			s.PortBase = base
			return nil
		}
	}
	return errors.New("find a free block of ports: choose one with --port-base")
}

// othersPorts are the bases of all other stacks of this cache, with their names.
func (s *Stack) othersPorts() map[int]string {
	taken := map[int]string{}
	entries, _ := filepath.Glob(filepath.Join(s.cache, "stacks", "*", "stack.json"))
	for _, entry := range entries {
		var other Stack
		if raw, err := os.ReadFile(entry); err == nil && json.Unmarshal(raw, &other) == nil && other.Name != s.Name {
			taken[other.PortBase] = other.Name
		}
	}
	return taken
}

func allFree(base int) bool {
	for port := base; port < base+portCount; port++ {
		listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			return false
		}
		listener.Close()
	}
	return true
}

// holder names the process that listens on a port of this host, for an error message that helps.
func holder(port int) string {
	inode := listenInode(port)
	if inode == "" {
		return ""
	}
	links, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, link := range links {
		if target, err := os.Readlink(link); err == nil && target == "socket:["+inode+"]" {
			pid := strings.Split(link, "/")[2]
			comm, _ := os.ReadFile("/proc/" + pid + "/comm")
			return fmt.Sprintf("%s, pid %s", strings.TrimSpace(string(comm)), pid)
		}
	}
	return "a process that cannot be seen from here"
}

// listenInode is the inode of the socket that listens on the port.
func listenInode(port int) string {
	suffix := fmt.Sprintf(":%04X", port)
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		file, err := os.Open(table)
		if err != nil {
			continue
		}
		defer file.Close()
		for lines := bufio.NewScanner(file); lines.Scan(); {
			fields := strings.Fields(lines.Text())
			const local, state, inode, listening = 1, 3, 9, "0A"
			if len(fields) > inode && fields[state] == listening && strings.HasSuffix(fields[local], suffix) {
				return fields[inode]
			}
		}
	}
	return ""
}
