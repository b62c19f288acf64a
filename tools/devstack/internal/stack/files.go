package stack

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// writeFile replaces a file in one step, so that a reader or a crash never meets half of it.
func writeFile(path string, content []byte, mode os.FileMode) error {
	temp := path + ".new"
	if err := errors.Join(os.WriteFile(temp, content, mode), os.Chmod(temp, mode)); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return os.Rename(temp, path)
}

// Lock keeps two commands from changing the stack at once.
func (s *Stack) Lock() (unlock func(), err error) {
	return flock(s.path("lock"), "another devstack command works on stack "+s.Name)
}

// flock takes a lock that ends with this process at the latest. If it has to wait, it says why.
func flock(path, why string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the lock: %w", err)
	}
	if unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		fmt.Fprintf(os.Stderr, "%s; waiting for it\n", why)
		if err := unix.Flock(int(file.Fd()), unix.LOCK_EX); err != nil {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), file.Close())
		}
	}
	return func() { file.Close() }, nil
}

// Purge removes what the stack has written, and its folder if nothing else is in it.
func (s *Stack) Purge() error {
	var err error
	for _, name := range []string{"data", "log", "run", "pki", "env", "kubeconfig", "stack.json", "lock"} {
		err = errors.Join(err, os.RemoveAll(s.path(name)))
	}
	if err != nil {
		return fmt.Errorf("remove the data of stack %s: %w", s.Name, err)
	}
	_ = os.Remove(s.Dir) // fails when the folder holds something of others
	if s.entry() != s.Dir {
		_ = os.Remove(s.entry()) // the link to it
	}
	return nil
}
