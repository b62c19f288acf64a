// Package cli is the command line of those who use the service: it asks and
// changes by the REST API alone, so that what it may do is what its token may.
//
//	lockstep get|describe|explain|tree|watch KIND [ID]
//	lockstep create|set|delete KIND …  [--wait]
//	lockstep context add|use|list|remove
//	lockstep doctor|orphans
//
// Documents are shown as the server gave them (-o json, -o yaml), or as tables
// whose columns are data, one list for each kind (kinds.go). Messages go to
// standard error, results to standard output; what went wrong is told to
// scripts by the exit code (exit.go).
package cli
