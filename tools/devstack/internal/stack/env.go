package stack

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// writeEnv writes the stack's env file: what a test or a shell needs to know, as export lines.
func (s *Stack) writeEnv() error {
	var text strings.Builder
	for _, entry := range s.env() {
		fmt.Fprintf(&text, "export %s='%s'\n", entry[0], strings.ReplaceAll(entry[1], "'", `'\''`))
	}
	return writeFile(s.path("env"), []byte(text.String()), 0o600)
}

func (s *Stack) env() [][2]string {
	var env [][2]string
	if s.ExternalMongo != "" {
		env = append(env, [2]string{"MONGODB_URI", s.ExternalMongo})
	} else {
		env = append(env,
			[2]string{"MONGODB_URI", s.mongoURI(portFerret1)},
			[2]string{"MONGODB_URI_2", s.mongoURI(portFerret2)},
			[2]string{"MONGODB_AUTH_ADDR", s.addr(portFerretAuth)})
	}
	if s.ExternalKube != "" {
		return append(env, [2]string{"KUBECONFIG", s.ExternalKube})
	}
	return append(env, [2]string{"KUBECONFIG", s.Kubeconfig()})
}

// Env is the content of the env file, which is there once the stack has been up.
func (s *Stack) Env() (string, error) {
	raw, err := os.ReadFile(s.path("env"))
	if errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("stack %s has not been up yet", s.Name)
	}
	return string(raw), err
}

// Summary is what `up` prints at the end: the variables, and lines to paste that look inside.
func (s *Stack) Summary() string {
	var text strings.Builder
	for _, entry := range s.env() {
		fmt.Fprintf(&text, "%s=%s\n", entry[0], entry[1])
	}
	self, _ := os.Executable()
	env := s.env()
	uri, kubeconfig := env[0][1], env[len(env)-1][1]
	fmt.Fprintf(&text, "\n# look inside\n")
	fmt.Fprintf(&text, "\"$(%s tools)\" '%s'\n", self, uri)
	fmt.Fprintf(&text, "KUBECONFIG='%s' %s kubectl get nodes\n", kubeconfig, self)
	fmt.Fprintf(&text, "eval \"$(%s env --name %s)\"\n", self, s.Name)
	fmt.Fprintf(&text, "%s status --name %s\n", self, s.Name)
	return text.String()
}
