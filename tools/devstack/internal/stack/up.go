package stack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/lockstep-io/lockstep/tools/devstack/internal/cluster"
)

// The steps of `up` that are not components.
const (
	stepDebian      = "debian"
	stepInitdb      = "database files"
	stepExtension   = "documentdb"
	stepCredentials = "credentials"
	stepInstall     = "crds"
	stepSettled     = "cluster"
	stepSweep       = "prepare" // processes that a step runs, such as debootstrap
)

// CheckRights fails unless this is root or nothing is to be started.
func CheckRights() error {
	if os.Geteuid() == 0 || os.Getenv("MONGODB_URI") != "" && os.Getenv("KUBECONFIG") != "" {
		return nil
	}
	return errNotRoot
}

var errNotRoot = errors.New("run as root (the stack unpacks a Debian and mounts inside it), " +
	"or set MONGODB_URI and KUBECONFIG to servers of your own")

// UpOptions are the choices of `up`.
type UpOptions struct {
	InstallCRDs bool // into the developer's own cluster, too
}

// Up brings the stack up: what is healthy is kept, everything else is started, in order, until all is ready.
func (s *Stack) Up(ctx context.Context, out io.Writer, options UpOptions) error {
	s.chooseExternal()
	if err := s.save(); err != nil {
		return err
	}
	// An earlier `up` may have been killed amid a long fetch, and what this one fetches must be found likewise.
	if err := s.kill(stepSweep); err != nil {
		return err
	}
	os.Setenv(stackMarker, s.Dir)
	os.Setenv(componentMarker, stepSweep)

	if err := runSteps(ctx, out, s.steps(options)); err != nil {
		if ctx.Err() != nil {
			return errors.New("interrupted; what has been started runs on: `devstack down` stops it")
		}
		return err
	}
	return s.writeEnv()
}

// chooseExternal takes MONGODB_URI and KUBECONFIG for servers that the developer brings, unless they are this stack's own,
// as in a shell that has evaluated `devstack env`.
func (s *Stack) chooseExternal() {
	s.ExternalMongo, s.ExternalKube = os.Getenv("MONGODB_URI"), os.Getenv("KUBECONFIG")
	if os.Geteuid() != 0 {
		return // it could not start anything itself
	}
	if s.ExternalMongo == s.mongoURI(portFerret1) {
		s.ExternalMongo = ""
	}
	if s.ExternalKube == s.Kubeconfig() {
		s.ExternalKube = ""
	}
}

// components are those that this stack runs.
func (s *Stack) components() []component {
	var components []component
	if s.ExternalMongo == "" {
		components = append(components, s.mongoComponents()...)
	}
	if s.ExternalKube == "" {
		components = append(components, s.kubeComponents()...)
	}
	return components
}

func (s *Stack) steps(options UpOptions) []step {
	var steps []step
	for _, c := range s.components() {
		steps = append(steps, step{name: c.name, after: c.after,
			run: func(ctx context.Context, say func(string)) error { return s.ensure(ctx, c, say) }})
	}
	if s.ExternalMongo == "" {
		steps = append(steps,
			step{name: stepDebian, run: s.unpack},
			step{name: stepInitdb, after: []string{stepDebian}, run: s.initdb},
			step{name: stepExtension, after: []string{postgres}, run: s.createExtension})
	}
	if s.ExternalKube == "" {
		steps = append(steps,
			step{name: stepCredentials, run: s.credentials},
			step{name: stepInstall, after: []string{apiServer}, run: s.install},
			step{name: stepSettled, after: []string{controllerManager, scheduler, kwok}, run: s.settled})
	} else if options.InstallCRDs {
		steps = append(steps, step{name: stepInstall, run: s.installExternal})
	}
	return steps
}

func (s *Stack) unpack(ctx context.Context, say func(string)) error {
	say("already unpacked")
	return s.tree.Ensure(ctx, say)
}

// installExternal is the only thing ever done to a cluster of the developer's, and only on demand.
func (s *Stack) installExternal(ctx context.Context, say func(string)) error {
	target, err := cluster.Connect(s.ExternalKube)
	if err != nil {
		return err
	}
	count, err := target.InstallCRDs(ctx, crdDir())
	say(fmt.Sprintf("%d CRDs in the cluster of %s", count, s.ExternalKube))
	return err
}
