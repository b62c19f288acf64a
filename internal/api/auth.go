package api

import (
	"net/http"
)

// Role is what a caller may do. Each role includes those before it.
type Role int

// The roles.
const (
	// Anyone needs no token: probes, metrics and the API's own description.
	Anyone Role = iota
	// Viewer reads.
	Viewer
	// Editor changes what its tenant owns.
	Editor
	// Admin also has the verbs that step in where the task services are stuck.
	Admin
)

// roleNames are the roles as they are written.
var roleNames = map[Role]string{Viewer: "viewer", Editor: "editor", Admin: "admin"}

// String returns the role's name.
func (r Role) String() string { return roleNames[r] }

// ParseRole returns the role of a name.
func ParseRole(name string) (Role, bool) {
	for role, n := range roleNames {
		if n == name {
			return role, true
		}
	}
	return Anyone, false
}

// AllTenants is the tenant of operators, who see all tenants' documents.
const AllTenants = "*"

// DefaultTenant owns the gateways that an operator makes without naming a
// tenant.
const DefaultTenant = "default"

// Caller is who makes a request.
type Caller struct {
	Name   string
	Role   Role
	Tenant string
}

// Sees reports whether the caller may see what a tenant owns.
func (c Caller) Sees(tenant string) bool { return c.Tenant == AllTenants || c.Tenant == tenant }

// Operator reports whether the caller sees all tenants.
func (c Caller) Operator() bool { return c.Tenant == AllTenants }

// Authenticator says who makes a request. A request that bears no token is
// made by the zero Caller; for a token that is not valid it returns
// [Unauthenticated].
type Authenticator interface {
	Authenticate(r *http.Request) (Caller, error)
}

// Open lets everybody do everything: for tests, and for a server that nobody
// else can reach.
type Open struct{}

// Authenticate implements [Authenticator].
func (Open) Authenticate(*http.Request) (Caller, error) {
	return Caller{Name: "anybody", Role: Admin, Tenant: AllTenants}, nil
}
