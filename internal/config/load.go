package config

import (
	"crypto/rand"
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/caarlos0/env/v11"
	"github.com/spf13/pflag"
)

// mongoFallback is the variable that many tools use for the same.
const mongoFallback = "MONGODB_URI"

// System is all that a configuration depends on besides its flags.
type System struct {
	// Environ is as [os.Environ] returns it.
	Environ []string
	// Hostname and Suffix make the replica's name.
	Hostname func() (string, error)
	Suffix   func() string
	// ReadFile reads the file of regions.
	ReadFile func(name string) ([]byte, error)
}

// OS is the process's own system.
func OS() System {
	return System{
		Environ:  os.Environ(),
		Hostname: os.Hostname,
		Suffix:   func() string { return strings.ToLower(rand.Text()[:6]) },
		ReadFile: os.ReadFile,
	}
}

// Flags are the options given as flags.
type Flags struct{ set *pflag.FlagSet }

// AddFlags adds a flag for each option, in the order of the table.
func AddFlags(set *pflag.FlagSet) Flags {
	set.SortFlags = false
	for _, o := range options {
		v := &text{unit: o.Unit, value: o.Default}
		flag := set.VarPF(v, o.Flag, "", o.Doc+" ["+o.Env+"]")
		flag.Hidden = o.hidden()
		if o.Unit == "bool" {
			flag.NoOptDefVal = "true"
		}
	}
	return Flags{set}
}

// text is a flag's value as given. It is parsed as that of a variable is.
type text struct {
	unit, value string
}

// String is the default until the flag is given.
func (t *text) String() string { return t.value }

// Set takes any text.
func (t *text) Set(value string) error { t.value = value; return nil }

// Type is shown in the help.
func (t *text) Type() string { return t.unit }

// Load returns the configuration that the flags and the system give. Its error
// is [Mistakes].
func (f Flags) Load(sys System) (Config, error) {
	environ := env.ToMap(sys.Environ)
	given, warnings := f.given(environ)
	s, mistakes := parse(given)
	checkValues(s, &mistakes)
	checkTesting(s, environ, &mistakes)
	s.Config.Regions = loadRegions(s, given, sys.ReadFile, &mistakes)
	if s.Replica == "" {
		s.Config.Replica = replica(environ, sys, &mistakes)
	}
	s.Config.Warnings = warnings
	if len(mistakes) > 0 {
		return Config{}, mistakes
	}
	return s.Config, nil
}

// Load returns the configuration that a command line gives on a system.
func Load(args []string, sys System) (Config, error) {
	set := pflag.NewFlagSet("lockstep serve", pflag.ContinueOnError)
	flags := AddFlags(set)
	if err := set.Parse(args); err != nil {
		return Config{}, err
	}
	return flags.Load(sys)
}

// given collects the values by variable: those of flags before those of the
// environment. It warns of variables that look like options and are none.
func (f Flags) given(environ map[string]string) (given map[string]string, warnings []string) {
	given = map[string]string{}
	for _, o := range options {
		value := environ[o.Env]
		if o.Flag == "mongodb-uri" && value == "" {
			value = environ[mongoFallback]
		}
		if flag := f.set.Lookup(o.Flag); flag.Changed {
			value = flag.Value.String()
		}
		if value != "" {
			given[o.Env] = value
		}
	}
	for name := range environ {
		if suspicious(name) {
			warnings = append(warnings, name+" is not an option and has no effect")
		}
	}
	slices.Sort(warnings)
	return given, warnings
}

// clientVars are those of the client commands, which the same shell may have.
var clientVars = []string{Prefix + "SERVER", Prefix + "TOKEN", Prefix + "CONTEXT", Prefix + "CONFIG"}

// suspicious reports whether a variable looks like a misspelt option. It must
// not look like what others put there: Kubernetes describes each Service of
// the namespace in variables of its name, and tests and tools have their own.
func suspicious(name string) bool {
	own := slices.ContainsFunc(options, func(o Option) bool { return o.Env == name })
	return !own && strings.HasPrefix(name, Prefix) && name != testingVar &&
		!strings.Contains(name, "_SERVICE_") && !strings.Contains(name, "_PORT") &&
		!strings.HasPrefix(name, Prefix+"TEST_") && name != Prefix+"CACHE" &&
		!slices.Contains(clientVars, name)
}

// parse turns texts into values. What cannot be parsed is a mistake.
func parse(given map[string]string) (*settings, Mistakes) {
	var s settings
	var mistakes Mistakes
	err := env.ParseWithOptions(&s, env.Options{Environment: given, Prefix: Prefix})
	var all env.AggregateError
	if err != nil && !errors.As(err, &all) {
		all.Errors = []error{err}
	}
	for _, err := range all.Errors {
		var wrong env.ParseError
		if !errors.As(err, &wrong) {
			panic("config: the table of options is wrong: " + err.Error())
		}
		o := optionFor(wrong.Name)
		mistakes = append(mistakes, Mistake{o.name(), is(given[o.Env]), o.bounds()})
	}
	return &s, mistakes
}

// replica makes a name that no other process has.
func replica(environ map[string]string, sys System, mistakes *Mistakes) string {
	name := environ["POD_NAME"]
	if name == "" {
		host, err := sys.Hostname()
		if err != nil {
			*mistakes = append(*mistakes, Mistake{optionFor("Replica").name(), notSet, "the host has no name: set one"})
			return ""
		}
		name = host
	}
	return name + "-" + sys.Suffix()
}
