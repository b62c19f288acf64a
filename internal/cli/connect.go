package cli

import (
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"
)

// remoteFlags adds the flags that say which server is asked, and completes
// their values.
func remoteFlags(env *Env, cmd *cobra.Command) {
	cmd.Flags().String("server", "", "address of the server (default LOCKSTEP_SERVER, or that of the context)")
	cmd.Flags().String("context", "", "context to use (default LOCKSTEP_CONTEXT, or that of `lockstep context use`)")
	_ = cmd.RegisterFlagCompletionFunc("context", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		known, err := readContexts(env)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return known.names(), cobra.ShellCompDirectiveNoFileComp
	})
	_ = cmd.RegisterFlagCompletionFunc("server", cobra.NoFileCompletions)
}

// connect finds the server that a command asks: the flags go before the
// variables, and these before the current context.
func connect(env *Env, cmd *cobra.Command) (*remote, error) {
	server, _ := cmd.Flags().GetString("server")
	name, _ := cmd.Flags().GetString("context")
	if server != "" && name != "" {
		return nil, usage("--server and --context both name a server: leave one of them out")
	}
	r := &remote{token: env.Getenv("LOCKSTEP_TOKEN"), named: "--server"}
	to := env.Transport
	if server == "" && name == "" {
		server, r.named = env.Getenv("LOCKSTEP_SERVER"), "LOCKSTEP_SERVER"
	}
	var err error
	if server == "" {
		err = r.fromContext(env, name, &to)
	} else {
		// A context's token is for that context's server, and goes nowhere else.
		r.base, err = serverURL(r.named, server)
	}
	if err != nil {
		return nil, err
	}
	r.warn(env)
	err = r.open(to, env.Version)
	return r, err
}

// errNoServer says that nothing names a server.
var errNoServer = usage("no server is named: use --server URL, set LOCKSTEP_SERVER, or run `lockstep context add NAME --server URL`")

func (r *remote) fromContext(env *Env, name string, to *http.RoundTripper) error {
	known, err := readContexts(env)
	if err != nil {
		return err
	}
	if name == "" {
		name = env.Getenv("LOCKSTEP_CONTEXT")
	}
	if name == "" {
		name = known.Current
	}
	if name == "" {
		return errNoServer
	}
	c, err := known.find(name)
	if err != nil {
		return err
	}
	r.named = "context " + c.Name
	if r.base, err = serverURL(r.named, c.Server); err != nil {
		return err
	}
	if c.CAFile != "" {
		if *to, err = transport(c.CAFile); err != nil {
			return err
		}
	}
	if r.token == "" {
		r.token, err = c.token()
	}
	return err
}

// serverURL checks the address of a server.
func serverURL(named, address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.User != nil {
		return "", usage("%s: %q is not the address of a server: use https://HOST[:PORT]", named, address)
	}
	return strings.TrimRight(address, "/"), nil
}

// warn says when a token would be read by everybody on the way.
func (r *remote) warn(env *Env) {
	u, err := url.Parse(r.base)
	if err != nil || r.token == "" || u.Scheme == "https" {
		return
	}
	ip := net.ParseIP(u.Hostname())
	if u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		env.notef("warning: the token goes to %s unencrypted: use https://", r.base)
	}
}
