package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/lockstep-io/lockstep/internal/api"
	"github.com/lockstep-io/lockstep/internal/resource"
)

// Grant is what one token, user or group may do.
type Grant struct {
	// Name is who stands behind a static token, in logs and audits.
	Name string `json:"name,omitempty"`
	// One of these says to whom it is granted: the SHA-256 of a token in hex, a
	// user, or a group.
	SHA256 string `json:"sha256,omitempty"`
	User   string `json:"user,omitempty"`
	Group  string `json:"group,omitempty"`

	Role    string    `json:"role"`
	Tenant  string    `json:"tenant"`
	Expires time.Time `json:"expires,omitzero"`

	role api.Role
}

// Grants are checked entries.
type Grants []Grant

// tokenPrefix makes tokens easy to find where they should not be.
const tokenPrefix = "ls_"

// NewToken draws a token, and the hash under which it is kept.
func NewToken() (token, hash string) {
	token = tokenPrefix + rand.Text()
	return token, Hash(token)
}

// Hash is how a token is kept. Tokens are random and long, so a fast hash
// without salt is enough.
func Hash(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// LoadGrants reads a file of grants.
func LoadGrants(path string) (Grants, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read grants: %w", err)
	}
	grants, err := ParseGrants(raw)
	if err != nil {
		return nil, fmt.Errorf("grants in %s: %w", path, err)
	}
	return grants, nil
}

// ParseGrants reads grants, as YAML or JSON, and says of each wrong one what is
// wrong and how to put it right.
func ParseGrants(raw []byte) (Grants, error) {
	var grants Grants
	if err := yaml.UnmarshalStrict(raw, &grants); err != nil {
		return nil, fmt.Errorf("not a list of grants: %w", err)
	}
	var errs []error
	for i := range grants {
		if err := grants[i].check(); err != nil {
			errs = append(errs, fmt.Errorf("entry %d: %w", i+1, err))
		}
	}
	return grants, errors.Join(errs...)
}

func (g *Grant) check() error {
	var errs []error
	given := 0
	for _, to := range []string{g.SHA256, g.User, g.Group} {
		if to != "" {
			given++
		}
	}
	if given != 1 {
		errs = append(errs, errors.New("give one of sha256, user and group"))
	}
	if g.SHA256 != "" {
		if raw, err := hex.DecodeString(g.SHA256); err != nil || len(raw) != sha256.Size {
			errs = append(errs, errors.New("sha256 is not a SHA-256 in hex: use printf %s TOKEN | sha256sum"))
		}
		if g.Name == "" {
			errs = append(errs, errors.New("name is empty: say who stands behind the token"))
		}
	}
	var known bool
	if g.role, known = api.ParseRole(g.Role); !known {
		errs = append(errs, fmt.Errorf("role is %q: use viewer, editor or admin", g.Role))
	}
	if g.Tenant != api.AllTenants && resource.ValidName(g.Tenant, resource.MaxChildName) != nil {
		errs = append(errs, fmt.Errorf("tenant is %q: use lower-case letters, digits and hyphens, or %q for all tenants", g.Tenant, api.AllTenants))
	}
	return errors.Join(errs...)
}

// identity is who a token stands for, as somebody vouches for it.
type identity struct {
	name   string
	users  []string
	groups []string
}

// caller is what an identity may do: nothing, if nothing is granted to it.
func (gs Grants) caller(id identity, now time.Time) api.Caller {
	for i := range gs {
		g := &gs[i]
		if g.expired(now) {
			continue
		}
		if g.User != "" && slices.Contains(id.users, g.User) || g.Group != "" && slices.Contains(id.groups, g.Group) {
			return api.Caller{Name: id.name, Role: g.role, Tenant: g.Tenant}
		}
	}
	return api.Caller{Name: id.name}
}

func (g *Grant) expired(now time.Time) bool { return !g.Expires.IsZero() && !now.Before(g.Expires) }
