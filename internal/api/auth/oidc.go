package auth

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/lockstep-io/lockstep/internal/api"
)

// discoveryTimeout bounds each question to the issuer.
const discoveryTimeout = 5 * time.Second

// issuer verifies the tokens of an OIDC issuer. It is asked for its keys when
// the first of its tokens comes, so that the service starts without it.
type issuer struct {
	url, audience string
	grants        Grants
	now           func() time.Time
	client        *http.Client

	mu       sync.Mutex
	verifier *oidc.IDTokenVerifier
}

func newIssuer(opts Options) *issuer {
	return &issuer{
		url: opts.OIDCIssuer, audience: opts.OIDCAudience, grants: opts.Grants, now: opts.Now,
		client: &http.Client{Timeout: discoveryTimeout},
	}
}

// claims are those of which the caller is made.
type claims struct {
	Subject  string   `json:"sub"`
	Email    string   `json:"email"`
	Verified bool     `json:"email_verified"`
	Groups   []string `json:"groups"`
}

func (i *issuer) verify(ctx context.Context, token string) (api.Caller, error) {
	if issuerOf(token) != i.url {
		return api.Caller{}, errNotMine
	}
	verifier, err := i.discover(ctx)
	if err != nil {
		return api.Caller{}, api.Unavailable("the token's issuer cannot be reached", err)
	}
	verified, err := verifier.Verify(oidc.ClientContext(ctx, i.client), token)
	var expired *oidc.TokenExpiredError
	switch {
	case errors.As(err, &expired):
		return api.Caller{}, api.Unauthenticated("the token has expired")
	case err != nil:
		return api.Caller{}, api.Unauthenticated("the token is not valid: its signature, issuer or audience is wrong")
	}
	var c claims
	if err := verified.Claims(&c); err != nil {
		return api.Caller{}, api.Unauthenticated("the token's claims cannot be read")
	}
	return i.grants.caller(c.identity(), i.now()), nil
}

func (c claims) identity() identity {
	id := identity{name: "oidc:" + c.Subject, users: []string{"oidc:" + c.Subject}}
	if c.Verified && c.Email != "" {
		id.name = "oidc:" + c.Email
		id.users = append(id.users, id.name)
	}
	for _, group := range c.Groups {
		id.groups = append(id.groups, "oidc:"+group)
	}
	return id
}

// discover asks the issuer for its configuration, once it has answered never
// again; its keys are fetched anew as they change.
func (i *issuer) discover(ctx context.Context) (*oidc.IDTokenVerifier, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.verifier != nil {
		return i.verifier, nil
	}
	provider, err := oidc.NewProvider(oidc.ClientContext(ctx, i.client), i.url)
	if err != nil {
		return nil, fmt.Errorf("ask OIDC issuer %s: %w", i.url, err)
	}
	i.verifier = provider.VerifierContext(oidc.ClientContext(context.WithoutCancel(ctx), i.client),
		&oidc.Config{ClientID: i.audience, Now: i.now})
	return i.verifier, nil
}

// issuerOf reads who claims to have issued a token, without believing it.
func issuerOf(token string) string {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return ""
	}
	raw, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return ""
	}
	var c struct {
		Issuer string `json:"iss"`
	}
	if json.Unmarshal(raw, &c) != nil {
		return ""
	}
	return c.Issuer
}
