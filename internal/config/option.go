package config

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"
)

// Prefix begins the names of all variables.
const Prefix = "LOCKSTEP_"

// Option describes one option, for documentation.
type Option struct {
	// Flag and Env are the flag's name, without dashes, and the variable's.
	Flag, Env string
	// Default is empty if there is none, or if Doc tells it.
	Default string
	// Unit is what the value is, in a word.
	Unit string
	Doc  string
	// Secret values are never shown.
	Secret bool
	// Required: the service does not start without it.
	Required bool

	field    reflect.StructField
	min, max string
	oneOf    []string
	fix      string // where it is required
	region   string // field of a region that it sets
}

// name is how messages call the option.
func (o Option) name() string { return "--" + o.Flag + " (" + o.Env + ")" }

// hidden options are for tests.
func (o Option) hidden() bool { return o.Doc == "" }

// bounds says in words which values are allowed.
func (o Option) bounds() string {
	switch kind := o.field.Type.Kind(); {
	case len(o.oneOf) > 0:
		return "use " + strings.Join(o.oneOf, " or ")
	case o.Unit == "duration":
		return fmt.Sprintf("use a duration from %s to %s, such as %s", o.min, o.max, cmp.Or(o.Default, o.max))
	case kind == reflect.Bool:
		return "use true or false"
	default:
		return fmt.Sprintf("use a whole number from %s to %s", o.min, o.max)
	}
}

// Options returns all options that are documented, in order.
func Options() []Option {
	var shown []Option
	for _, o := range options {
		if !o.hidden() {
			shown = append(shown, o)
		}
	}
	return shown
}

// options is the table that the tags make.
var options = table(reflect.TypeFor[settings]())

func table(t reflect.Type) []Option {
	var rows []Option
	for field := range t.Fields() {
		switch name := field.Tag.Get("env"); {
		case name == "-":
		case name != "":
			rows = append(rows, optionOf(field, name))
		default:
			rows = append(rows, table(field.Type)...)
		}
	}
	return rows
}

func optionOf(field reflect.StructField, name string) Option {
	o := Option{
		Flag:    strings.ReplaceAll(strings.ToLower(name), "_", "-"),
		Env:     Prefix + name,
		Default: field.Tag.Get("envDefault"),
		Unit:    field.Tag.Get("unit"),
		Doc:     field.Tag.Get("doc"),
		Secret:  field.Type == reflect.TypeFor[Secret](),
		field:   field,
		min:     field.Tag.Get("min"), max: field.Tag.Get("max"),
		fix: field.Tag.Get("required"), region: field.Tag.Get("region"),
	}
	o.Required = o.fix != ""
	if oneOf := field.Tag.Get("oneof"); oneOf != "" {
		o.oneOf = strings.Split(oneOf, ",")
	}
	return o
}

// optionFor returns the option whose field has this name. Fields' names are
// unique in the table.
func optionFor(field string) Option {
	for _, o := range options {
		if o.field.Name == field {
			return o
		}
	}
	panic("config: no option has the field " + field)
}
