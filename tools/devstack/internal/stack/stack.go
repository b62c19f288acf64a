// Package stack starts, watches, hurts and stops the components of a local stack.
//
// There is no supervisor: `up` starts every component as a process of its own, waits until all are ready, and exits. What
// runs is found again by looking at the processes themselves (see process.go), never by trusting a file.
package stack

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"github.com/lockstep-io/lockstep/tools/devstack/internal/debian"
)

// Stack is one local stack: a name, a folder and a block of ports.
type Stack struct {
	Name     string `json:"name"`
	PortBase int    `json:"portBase"`
	Dir      string `json:"-"` // everything the stack writes, with no symbolic link in the path

	// What the stack does not run because the developer brings servers of their own.
	ExternalMongo string `json:"externalMongo,omitempty"` // their MONGODB_URI
	ExternalKube  string `json:"externalKube,omitempty"`  // their KUBECONFIG

	cache string
	tree  debian.Tree
}

// ErrNone says that there is no stack of that name.
var ErrNone = errors.New("no such stack")

var validName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,40}$`)

// CacheDir is where everything lives that is fetched or built once per machine.
func CacheDir() (string, error) {
	if dir := os.Getenv("LOCKSTEP_CACHE"); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the cache folder (set LOCKSTEP_CACHE): %w", err)
	}
	return filepath.Join(dir, "lockstep"), nil
}

// Open finds the stack of that name, as a previous `up` left it. With ErrNone comes a stack that can still be taken Down:
// its files may be gone while its processes run.
func Open(name string) (*Stack, error) {
	s, err := locate(name)
	if err != nil {
		return nil, err
	}
	return s, s.load()
}

// Create opens the stack, or makes it in dir (in the cache when empty) with a free block of ports (or the one asked for).
func Create(name, dir string, portBase int) (*Stack, error) {
	s, err := locate(name)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(s.entry()), 0o755); err != nil {
		return nil, fmt.Errorf("make the list of stacks: %w", err)
	}
	unlock, err := flock(filepath.Join(s.cache, "stacks.lock"), "another stack is being made")
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := s.settleIn(dir); err != nil {
		return nil, fmt.Errorf("make the folder of stack %s: %w", name, err)
	}
	if err := s.load(); err != nil && !errors.Is(err, ErrNone) {
		return nil, err
	}
	fresh := s.PortBase == 0
	if err := s.choosePorts(portBase); err != nil {
		if fresh {
			err = errors.Join(err, s.Purge())
		}
		return nil, err
	}
	return s, s.save()
}

// locate resolves the name to a folder, which need not exist. CACHE/stacks/NAME is that folder, or a link to it.
func locate(name string) (*Stack, error) {
	if !validName.MatchString(name) {
		return nil, fmt.Errorf("name %q: want lower-case letters, digits and dashes", name)
	}
	cache, err := CacheDir()
	if err != nil {
		return nil, err
	}
	s := &Stack{Name: name, cache: cache, tree: debian.Tree{Cache: cache}}
	s.Dir = s.entry()
	if dir, err := filepath.EvalSymlinks(s.Dir); err == nil {
		s.Dir = dir
	} else if dir, err := os.Readlink(s.Dir); err == nil {
		s.Dir = dir // the folder is gone; its processes may not be
	}
	return s, nil
}

// entry is the stack's place in the list of all stacks.
func (s *Stack) entry() string { return filepath.Join(s.cache, "stacks", s.Name) }

// settleIn makes the folder of the stack, elsewhere if dir says so, and the link that finds it there by name.
func (s *Stack) settleIn(dir string) error {
	if dir != "" {
		if err := s.liveElsewhere(dir); err != nil {
			return err
		}
	}
	for _, sub := range []string{"log", "run", "data", "pki"} {
		if err := os.MkdirAll(s.path(sub), 0o755); err != nil {
			return err
		}
	}
	return nil
}

func (s *Stack) liveElsewhere(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil || dir == s.Dir {
		return err
	}
	if _, err := os.Stat(s.entry()); err == nil {
		return fmt.Errorf("it lives in %s; take it down with --purge first", s.Dir)
	}
	_ = os.Remove(s.entry()) // a link to nowhere
	s.Dir = dir
	return os.Symlink(dir, s.entry())
}

func (s *Stack) path(elem ...string) string {
	return filepath.Join(append([]string{s.Dir}, elem...)...)
}

func (s *Stack) load() error {
	raw, err := os.ReadFile(s.path("stack.json"))
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%w: %s (in %s)", ErrNone, s.Name, s.Dir)
	}
	if err != nil {
		return fmt.Errorf("read the stack's settings: %w", err)
	}
	if err := json.Unmarshal(raw, s); err != nil {
		return fmt.Errorf("read %s: %w", s.path("stack.json"), err)
	}
	return nil
}

func (s *Stack) save() error {
	raw, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the stack's settings: %w", err)
	}
	return writeFile(s.path("stack.json"), append(raw, '\n'), 0o644)
}
