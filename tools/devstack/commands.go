package main

import (
	"errors"
	"fmt"
	"os"
	"text/tabwriter"
	"time"

	"github.com/lockstep-io/lockstep/tools/devstack/internal/stack"
	"github.com/spf13/cobra"
)

func upCommand(name *string) *cobra.Command {
	var dir string
	var portBase int
	var options stack.UpOptions
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start what does not run, wait until all is ready, and leave it running",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			begun := time.Now()
			if err := stack.CheckRights(); err != nil {
				return err
			}
			s, err := stack.Create(*name, dir, portBase)
			if err != nil {
				return err
			}
			unlock, err := s.Lock()
			if err != nil {
				return err
			}
			defer unlock()
			if err := s.Up(cmd.Context(), os.Stderr, options); err != nil {
				return err
			}
			fmt.Fprintf(os.Stderr, "\nstack %s is up after %.1fs, in %s\n\n", s.Name, time.Since(begun).Seconds(), s.Dir)
			fmt.Print(s.Summary())
			return nil
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "folder of the stack (default: CACHE/stacks/NAME)")
	cmd.Flags().IntVar(&portBase, "port-base", 0, "first of its ports (default: 27017 for the default stack, else a free block)")
	cmd.Flags().BoolVar(&options.InstallCRDs, "install-crds", false, "also install the CRDs into the cluster of your own KUBECONFIG")
	return cmd
}

func downCommand(name *string) *cobra.Command {
	var purge bool
	cmd := &cobra.Command{
		Use:   "down",
		Short: "Stop everything that runs for the stack",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			say := func(line string) { fmt.Fprintln(os.Stderr, line) }
			s, err := stack.Open(*name)
			if errors.Is(err, stack.ErrNone) {
				say(err.Error())
				return s.Down(say)
			}
			if err != nil {
				return err
			}
			unlock, err := s.Lock()
			if err != nil {
				return err
			}
			defer unlock()
			if err := s.Down(say); err != nil {
				return err
			}
			if purge {
				return s.Purge()
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&purge, "purge", false, "remove its data, too")
	return cmd
}

func envCommand(name *string) *cobra.Command {
	return &cobra.Command{
		Use:   "env",
		Short: `Print export lines, for eval "$(devstack env)"`,
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			s, err := stack.Open(*name)
			if err != nil {
				return err
			}
			env, err := s.Env()
			fmt.Print(env)
			return err
		},
	}
}

func statusCommand(name *string) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show the components",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := stack.Open(*name)
			if err != nil {
				return err
			}
			table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
			fmt.Fprintln(table, "COMPONENT\tPID\tSTATE\tADDRESS\tSINCE")
			for _, c := range s.Status(cmd.Context()) {
				pid, since := "-", "-"
				if c.PID != 0 {
					pid, since = fmt.Sprint(c.PID), c.Since.Format(time.DateTime)
				}
				fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", c.Component, pid, c.State, c.Address, since)
			}
			return table.Flush()
		},
	}
}

// faultCommands hurt or heal one component.
func faultCommands(name *string) []*cobra.Command {
	one := func(verb, short string, act func(*cobra.Command, *stack.Stack, string) error) *cobra.Command {
		return &cobra.Command{Use: verb + " COMPONENT", Short: short, Args: cobra.ExactArgs(1),
			RunE: func(cmd *cobra.Command, args []string) error {
				s, err := stack.Open(*name)
				if err != nil {
					return err
				}
				unlock, err := s.Lock()
				if err != nil {
					return err
				}
				defer unlock()
				return act(cmd, s, args[0])
			}}
	}
	return []*cobra.Command{
		one("kill", "End a component with SIGKILL; it stays dead until up or restart",
			func(_ *cobra.Command, s *stack.Stack, c string) error { return s.Kill(c) }),
		one("pause", "Freeze a component with SIGSTOP",
			func(_ *cobra.Command, s *stack.Stack, c string) error { return s.Pause(c) }),
		one("resume", "Let a paused component go on",
			func(_ *cobra.Command, s *stack.Stack, c string) error { return s.Resume(c) }),
		one("restart", "Stop a component in order, start it and wait until it is ready",
			func(cmd *cobra.Command, s *stack.Stack, c string) error {
				return s.Restart(cmd.Context(), c, func(line string) { fmt.Fprintln(os.Stderr, line) })
			}),
	}
}

func toolsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "tools",
		Short: "Install mongosh into the cache unless it is there, and print its path",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			path, err := stack.Mongosh(cmd.Context(), os.Stderr)
			if err == nil {
				fmt.Println(path)
			}
			return err
		},
	}
}
