package stack

import (
	"errors"
	"fmt"
	"os"
)

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
		return os.Remove(s.entry())
	}
	return nil
}
