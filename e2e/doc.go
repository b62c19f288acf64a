// Package e2e tests the service as it is run: processes of the binary, several
// replicas on one database, which are killed, stopped, cut off and shut down;
// its REST API, its probes, its log; and mongosh.
package e2e
