// Package api is the platform's REST API, on chi and huma (OpenAPI 3.1).
//
// # What it may do
//
// A handler writes intent and nothing else: the state of a document, its
// settings (each change raises the generation), and new documents. Deleting is
// the state Deleted; the document goes when the task services have taken
// everything of it away. Phases, locks and histories are read and shown, never
// written: API and task services meet only in the document. So whatever goes
// wrong here, nothing is lost: an intent was written or it was not, and asking
// again does no harm.
//
// # Where to look
//
//   - api.go: what the package needs, and how it is put together
//   - register.go: what all operations have in common
//   - errors.go, problem.go: the one border at which errors become
//     problem+json, and the stable codes
//   - auth.go: callers, roles and tenants
//   - gateways.go, and a file for each kind of document beneath a gateway
//   - explain.go, contradictions.go: what a gateway's tree waits for, what in
//     it contradicts the gateway's phase, and what will move it next
package api
