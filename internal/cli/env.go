package cli

import (
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/lockstep-io/lockstep/internal/resource"
)

// Env is what the commands know of the world around them.
type Env struct {
	In       io.Reader
	Out, Err io.Writer
	Getenv   func(name string) string
	// Terminal says that Out is a terminal, on which lines can be drawn again;
	// Width is how wide it is.
	Terminal bool
	Width    func() int
	// Version of this program.
	Version string
	// Diagrams returns the kinds' state diagrams (Mermaid).
	Diagrams func() (map[resource.Kind]string, error)
	// Transport makes requests; [http.DefaultTransport] if nil.
	Transport http.RoundTripper
}

// narrowest is the width below which nothing is fitted.
const narrowest = 60

// width is that of the terminal; wide where there is none.
func (e *Env) width() int {
	if !e.Terminal || e.Width == nil {
		return 0
	}
	return max(e.Width(), narrowest)
}

// colored reports whether to use colours: on a terminal that has them, unless
// the user has said no (https://no-color.org).
func (e *Env) colored() bool {
	return e.Terminal && e.Getenv("NO_COLOR") == "" && e.Getenv("TERM") != "dumb"
}

// printf prints a result. A reader that has gone away is not an error of ours.
func (e *Env) printf(format string, args ...any) { _, _ = fmt.Fprintf(e.Out, format, args...) }

// notef prints what a person wants to know and a program does not.
func (e *Env) notef(format string, args ...any) { _, _ = fmt.Fprintf(e.Err, format+"\n", args...) }

// requestTimeout bounds one request to the server.
const requestTimeout = 30 * time.Second

// Commands are the commands of those who use the service.
func Commands(env *Env) []*cobra.Command {
	commands := []*cobra.Command{
		getCommand(env), describeCommand(env), explainCommand(env), treeCommand(env), watchCommand(env),
		createCommand(env), setCommand(env), deleteCommand(env), rotateCommand(env), rollbackCommand(env), eventsCommand(env),
		shardsCommand(env), contextCommand(env), doctorCommand(env), orphansCommand(env), adoptCommand(env), exitCodesTopic(),
	}
	commands = append(commands, verbCommands(env)...)
	for _, cmd := range commands {
		if cmd.HasSubCommands() {
			Subcommands(cmd)
		}
		cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
			return usage("%w: see `%s --help`", err, cmd.CommandPath())
		})
	}
	return commands
}

func exitCodesTopic() *cobra.Command {
	text := "Exit codes tell scripts what went wrong:\n\n"
	for _, c := range Codes {
		text += fmt.Sprintf("  %3d  %s\n", c.Code, c.Means)
	}
	return &cobra.Command{Use: "exit-codes", Short: "What the exit codes mean", Long: text}
}
