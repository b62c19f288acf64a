package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// contexts is the file of known servers.
type contexts struct {
	Current  string          `json:"current,omitempty"`
	Contexts []serverContext `json:"contexts"`

	path string
}

// serverContext is one known server, and how to speak with it.
type serverContext struct {
	Name   string `json:"name"`
	Server string `json:"server"`
	// Token is the token itself, TokenFile the file in which it is.
	Token     string `json:"token,omitempty"`
	TokenFile string `json:"tokenFile,omitempty"`
	// CAFile holds the certificates of the server's CA, if it is not a public
	// one.
	CAFile string `json:"caFile,omitempty"`
}

// contextsPath is where the file is.
func contextsPath(env *Env) (string, error) {
	if path := env.Getenv("LOCKSTEP_CONFIG"); path != "" {
		return path, nil
	}
	folder := env.Getenv("XDG_CONFIG_HOME")
	if folder == "" {
		home := env.Getenv("HOME")
		if home == "" {
			return "", usage("neither LOCKSTEP_CONFIG nor HOME is set: set LOCKSTEP_CONFIG to the path of the file of contexts")
		}
		folder = filepath.Join(home, ".config")
	}
	return filepath.Join(folder, "lockstep", "contexts.json"), nil
}

// readContexts reads the file; one that is not there is empty. One that others
// can read is refused: there may be tokens in it.
func readContexts(env *Env) (*contexts, error) {
	path, err := contextsPath(env)
	if err != nil {
		return nil, err
	}
	c := &contexts{path: path}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the file of contexts: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, fail(Failed, "%s can be read by others (mode %04o) and may hold tokens: run `chmod 600 %s`", path, info.Mode().Perm(), path)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("the file of contexts: %w", err)
	}
	if err := json.Unmarshal(raw, c); err != nil {
		return nil, fail(Failed, "%s is not a file of contexts (%w): put it right, or remove it and run `lockstep context add`", path, err)
	}
	return c, nil
}

// write replaces the file in one move, readable by its owner alone.
func (c *contexts) write() error {
	raw, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the contexts: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(c.path), 0o700); err != nil {
		return fmt.Errorf("the folder of the contexts: %w", err)
	}
	temp, err := os.CreateTemp(filepath.Dir(c.path), "contexts-*") // made with mode 0600
	if err != nil {
		return fmt.Errorf("write the contexts: %w", err)
	}
	defer os.Remove(temp.Name()) //nolint:errcheck // it has been moved, or is of no use
	_, err = temp.Write(append(raw, '\n'))
	if err := errors.Join(err, temp.Close()); err != nil {
		return fmt.Errorf("write the contexts: %w", err)
	}
	if err := os.Rename(temp.Name(), c.path); err != nil {
		return fmt.Errorf("write the contexts: %w", err)
	}
	return nil
}

// find returns a context by name.
func (c *contexts) find(name string) (*serverContext, error) {
	i := slices.IndexFunc(c.Contexts, func(x serverContext) bool { return x.Name == name })
	if i < 0 {
		return nil, usage("there is no context %q: %s", name, c.known())
	}
	return &c.Contexts[i], nil
}

func (c *contexts) names() []string {
	names := make([]string, len(c.Contexts))
	for i, x := range c.Contexts {
		names[i] = x.Name
	}
	return names
}

func (c *contexts) known() string {
	if len(c.Contexts) == 0 {
		return "there are none yet; add one with `lockstep context add NAME --server URL`"
	}
	return "use one of " + strings.Join(c.names(), ", ")
}

// token reads the context's token.
func (c *serverContext) token() (string, error) {
	if c.TokenFile == "" {
		return c.Token, nil
	}
	raw, err := os.ReadFile(c.TokenFile)
	if err != nil {
		return "", fmt.Errorf("the token of context %s: %w", c.Name, err)
	}
	return strings.TrimSpace(string(raw)), nil
}
