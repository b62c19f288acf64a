// Package testrecord records what a replica does, call by call, for those who
// check it afterwards: the chaos suite (tools/chaos). A replica records only
// where tests ask for it (--test-record, LOCKSTEP_TESTING=1).
//
// A record is a file of lines in JSON. Each call has two lines, one before it
// is made and one after, which share a number: a replica that was killed in
// between leaves a call of which nobody knows whether it was made. Lines are
// written at once, so a record holds all that a killed replica has begun.
//
// Times are of the machine's monotonic clock, which is the same for all its
// processes and is not touched by what a replica believes the time to be.
package testrecord
