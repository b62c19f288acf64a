// Package config reads the configuration of `lockstep serve` from flags and
// the environment.
//
// Every option is one field of [Config], or of a struct in it. The field's
// tags are the one table of options: the variable's name (the flag's follows
// from it), default, unit, bounds and description. Help, documentation,
// parsing and most checks come from them.
//
// A flag goes before its variable, and an empty value counts as none. Values
// that are wrong are refused all at once ([Mistakes]), each with the option,
// the value (never that of a secret) and what to do.
package config
