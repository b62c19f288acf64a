package auth

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/lockstep-io/lockstep/internal/api"
)

// errNotMine says that a token is none that the verifier could know.
var errNotMine = errors.New("not a token of this verifier")

// maxToken bounds what is taken for a token.
const maxToken = 16 << 10

// verifier says whom a token stands for.
type verifier interface {
	verify(ctx context.Context, token string) (api.Caller, error)
}

// Bearer is an [api.Authenticator] by bearer tokens. Each verifier is asked in
// turn, until one knows the token.
type Bearer struct{ verifiers []verifier }

// Options say which tokens are accepted.
type Options struct {
	// Grants say what tokens, users and groups may do.
	Grants Grants
	// OIDCIssuer, if not empty, is an issuer of OpenID Connect tokens, which
	// must be for OIDCAudience.
	OIDCIssuer, OIDCAudience string
	// Kubernetes, if not nil, reviews tokens of service accounts.
	Kubernetes TokenReviewer
	// Now is the clock by which grants expire; the wall clock if nil.
	Now func() time.Time
}

// New returns an authenticator. It does no I/O.
func New(opts Options) *Bearer {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	b := &Bearer{verifiers: []verifier{newTokens(opts)}}
	if opts.OIDCIssuer != "" {
		b.verifiers = append(b.verifiers, newIssuer(opts))
	}
	if opts.Kubernetes != nil {
		b.verifiers = append(b.verifiers, newReviews(opts))
	}
	return b
}

// Authenticate implements [api.Authenticator].
func (b *Bearer) Authenticate(r *http.Request) (api.Caller, error) {
	header := r.Header.Get("Authorization")
	if header == "" {
		return api.Caller{}, nil
	}
	scheme, token, _ := strings.Cut(header, " ")
	token = strings.TrimSpace(token)
	if !strings.EqualFold(scheme, "Bearer") || token == "" || len(token) > maxToken {
		return api.Caller{}, api.Unauthenticated("the Authorization header is not \"Bearer TOKEN\"")
	}
	for _, v := range b.verifiers {
		caller, err := v.verify(r.Context(), token)
		if !errors.Is(err, errNotMine) {
			return caller, err
		}
	}
	return api.Caller{}, api.Unauthenticated("the token is not known")
}

// tokens are the static ones.
type tokens struct {
	byHash map[string]*Grant
	now    func() time.Time
}

func newTokens(opts Options) *tokens {
	t := &tokens{byHash: map[string]*Grant{}, now: opts.Now}
	for i := range opts.Grants {
		if g := &opts.Grants[i]; g.SHA256 != "" {
			t.byHash[strings.ToLower(g.SHA256)] = g
		}
	}
	return t
}

func (t *tokens) verify(_ context.Context, token string) (api.Caller, error) {
	g, ok := t.byHash[Hash(token)]
	if !ok {
		return api.Caller{}, errNotMine
	}
	if g.expired(t.now()) {
		return api.Caller{}, api.Unauthenticated("the token has expired")
	}
	return api.Caller{Name: g.Name, Role: g.role, Tenant: g.Tenant}, nil
}
