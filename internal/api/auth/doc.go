// Package auth finds out who makes a request to the API: by a static bearer
// token, by a token of an OIDC issuer, or by one of a Kubernetes service
// account.
//
// Whom a token stands for is said in one file, the grants:
//
//   - name: ci               # a static token, of which only the hash is kept
//     sha256: 5e88…
//     role: editor
//     tenant: acme
//     expires: 2027-01-01T00:00:00Z
//   - user: oidc:alice@example.com
//     role: viewer
//     tenant: acme
//   - group: kubernetes:system:serviceaccounts:ops
//     role: admin
//     tenant: "*"            # an operator: all tenants
//
// Users and groups bear the name of who vouches for them, so that nobody can
// pass for a user of another. The first entry that fits counts.
package auth
