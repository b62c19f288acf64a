package cli

import (
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

func contextCommand(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "context",
		Short: "Name the servers that you use, and choose among them",
		Long: `A context is a server and the token for it. They are kept in a file that only
you can read: LOCKSTEP_CONFIG, or lockstep/contexts.json in the folder of your
settings. A token in LOCKSTEP_TOKEN goes before that of a context.`,
	}
	cmd.AddCommand(contextAdd(env), contextUse(env), contextList(env), contextRemove(env))
	return cmd
}

func contextAdd(env *Env) *cobra.Command {
	var added serverContext
	var fromStdin bool
	cmd := &cobra.Command{
		Use:   "add NAME --server URL",
		Short: "Add a context, or replace the one of that name; the first is used at once",
		Args:  exactly(1),
		RunE: func(_ *cobra.Command, args []string) error {
			added.Name = args[0]
			if err := added.complete(env, fromStdin); err != nil {
				return err
			}
			known, err := readContexts(env)
			if err != nil {
				return err
			}
			known.Contexts = slices.DeleteFunc(known.Contexts, func(c serverContext) bool { return c.Name == added.Name })
			known.Contexts = append(known.Contexts, added)
			if known.Current == "" {
				known.Current = added.Name
			}
			if err := known.write(); err != nil {
				return err
			}
			env.notef("Context %s is added; %s is used.", added.Name, known.Current)
			return nil
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	cmd.Flags().StringVar(&added.Server, "server", "", "address of the server, such as https://lockstep.example.com")
	cmd.Flags().StringVar(&added.TokenFile, "token-file", "", "file with the token; it is read at each use")
	cmd.Flags().BoolVar(&fromStdin, "token-stdin", false, "read the token from standard input and keep it in the context")
	cmd.Flags().StringVar(&added.CAFile, "ca-file", "", "PEM file with the CA of the server's certificate, if it is not a public one")
	return cmd
}

// complete checks a new context and reads its token.
func (c *serverContext) complete(env *Env, fromStdin bool) error {
	if c.Server == "" {
		return usage("--server is missing: give the address of the server, such as https://lockstep.example.com")
	}
	if _, err := serverURL("--server", c.Server); err != nil {
		return err
	}
	if fromStdin && c.TokenFile != "" {
		return usage("--token-stdin and --token-file both give the token: leave one of them out")
	}
	for _, path := range []*string{&c.TokenFile, &c.CAFile} {
		if *path == "" {
			continue
		}
		absolute, err := filepath.Abs(*path)
		if err != nil {
			return err
		}
		*path = absolute
	}
	if !fromStdin {
		return nil
	}
	raw, err := io.ReadAll(io.LimitReader(env.In, 64<<10))
	if err != nil {
		return fail(Failed, "--token-stdin: %w", err)
	}
	if c.Token = strings.TrimSpace(string(raw)); c.Token == "" {
		return usage("--token-stdin: standard input is empty: pipe the token into it")
	}
	return nil
}

func contextUse(env *Env) *cobra.Command {
	return &cobra.Command{
		Use: "use NAME", Short: "Use a context from now on", Args: exactly(1),
		RunE: func(_ *cobra.Command, args []string) error {
			known, err := readContexts(env)
			if err != nil {
				return err
			}
			if _, err := known.find(args[0]); err != nil {
				return err
			}
			known.Current = args[0]
			return known.write()
		},
		ValidArgsFunction: completeContexts(env),
	}
}

func contextRemove(env *Env) *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME", Short: "Forget a context", Args: exactly(1),
		RunE: func(_ *cobra.Command, args []string) error {
			known, err := readContexts(env)
			if err != nil {
				return err
			}
			if _, err := known.find(args[0]); err != nil {
				return err
			}
			known.Contexts = slices.DeleteFunc(known.Contexts, func(c serverContext) bool { return c.Name == args[0] })
			if known.Current == args[0] {
				known.Current = ""
			}
			return known.write()
		},
		ValidArgsFunction: completeContexts(env),
	}
}

func contextList(env *Env) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the contexts; tokens are not shown", Args: exactly(0),
		RunE: func(*cobra.Command, []string) error {
			known, err := readContexts(env)
			if err != nil {
				return err
			}
			t := newTable(env, "", "name", "server", "token")
			for _, c := range known.Contexts {
				mark, token := "", "none"
				if c.Name == known.Current {
					mark = "*"
				}
				switch {
				case c.TokenFile != "":
					token = "in " + c.TokenFile
				case c.Token != "":
					token = "kept"
				}
				t.row(mark, c.Name, c.Server, token)
			}
			t.print()
			return nil
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
}

func completeContexts(env *Env) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		known, err := readContexts(env)
		if err != nil || len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return known.names(), cobra.ShellCompDirectiveNoFileComp
	}
}
