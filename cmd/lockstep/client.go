package main

import (
	"fmt"
	"os"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"golang.org/x/term"

	"github.com/lockstep-io/lockstep/internal/cli"
	"github.com/lockstep-io/lockstep/internal/documents"
	"github.com/lockstep-io/lockstep/internal/platform"
	"github.com/lockstep-io/lockstep/internal/resource"
)

// clientEnv is the world in which the client commands run.
func clientEnv() *cli.Env {
	out := int(os.Stdout.Fd())
	return &cli.Env{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv,
		Terminal: term.IsTerminal(out),
		Width: func() int {
			width, _, err := term.GetSize(out)
			if err != nil {
				return 0
			}
			return width
		},
		Version: version, Diagrams: diagrams,
	}
}

// diagrams are those of the definitions that this binary runs. A platform
// without regions does no I/O, and its client connects to nothing.
func diagrams() (map[resource.Kind]string, error) {
	client, err := mongo.Connect()
	if err != nil {
		return nil, fmt.Errorf("draw the diagrams: %w", err)
	}
	run, err := platform.New(documents.Open(client.Database("none")), nil, platform.Options{})
	if err != nil {
		return nil, err
	}
	return run.Diagrams(), nil
}
