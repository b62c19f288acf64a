package auth_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	jose "github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"go.uber.org/goleak"
	authentication "k8s.io/api/authentication/v1"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/lockstep-io/lockstep/internal/api"
	"github.com/lockstep-io/lockstep/internal/api/auth"
	"github.com/lockstep-io/lockstep/internal/testenv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ask authenticates a request with an Authorization header.
func ask(t *testing.T, b *auth.Bearer, header string) (api.Caller, api.Code) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/regions", nil)
	if header != "" {
		r.Header.Set("Authorization", header)
	}
	caller, err := b.Authenticate(r)
	var p *api.Problem
	if err != nil && !errors.As(err, &p) {
		t.Fatalf("not a problem: %v", err)
	}
	if p != nil {
		return caller, p.Code
	}
	return caller, ""
}

func parse(t *testing.T, text string) auth.Grants {
	t.Helper()
	grants, err := auth.ParseGrants([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return grants
}

func TestStaticTokens(t *testing.T) {
	token, hash := auth.NewToken()
	old, oldHash := auth.NewToken()
	b := auth.New(auth.Options{Grants: parse(t, `
- {name: ci, sha256: `+hash+`, role: editor, tenant: acme}
- {name: old, sha256: `+strings.ToUpper(oldHash)+`, role: admin, tenant: "*", expires: 2020-01-01T00:00:00Z}
`)})
	for _, tc := range []struct {
		name, header string
		want         api.Caller
		code         api.Code
	}{
		{"valid", "Bearer " + token, api.Caller{Name: "ci", Role: api.Editor, Tenant: "acme"}, ""},
		{"scheme in lower case", "bearer  " + token, api.Caller{Name: "ci", Role: api.Editor, Tenant: "acme"}, ""},
		{"none", "", api.Caller{}, ""},
		{"unknown", "Bearer " + token + "x", api.Caller{}, api.CodeUnauthenticated},
		{"its hash", "Bearer " + hash, api.Caller{}, api.CodeUnauthenticated},
		{"expired", "Bearer " + old, api.Caller{}, api.CodeUnauthenticated},
		{"another scheme", "Basic " + token, api.Caller{}, api.CodeUnauthenticated},
		{"empty", "Bearer ", api.Caller{}, api.CodeUnauthenticated},
		{"huge", "Bearer " + strings.Repeat("x", 1<<20), api.Caller{}, api.CodeUnauthenticated},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if caller, code := ask(t, b, tc.header); caller != tc.want || code != tc.code {
				t.Fatalf("%+v %q, want %+v %q", caller, code, tc.want, tc.code)
			}
		})
	}
}

func TestWrongGrants(t *testing.T) {
	for text, says := range map[string]string{
		"role: admin": "not a list of grants",
		"- {role: admin, tenant: a, user: u, colour: red}":                                   "unknown field",
		"- {role: admin, tenant: a}":                                                         "give one of sha256, user and group",
		"- {role: admin, tenant: a, user: u, group: g}":                                      "give one of sha256, user and group",
		"- {role: owner, tenant: a, user: u}":                                                `role is "owner": use viewer, editor or admin`,
		"- {role: admin, tenant: A B, user: u}":                                              `tenant is "A B"`,
		"- {role: admin, user: u}":                                                           `tenant is ""`,
		"- {role: admin, tenant: a, sha256: abc, name: n}":                                   "not a SHA-256 in hex",
		"- {role: admin, tenant: a, sha256: " + strings.Repeat("ab", 32) + "}":               "say who stands behind the token",
		"- {role: admin, tenant: a, user: u}\n- {role: viewer, tenant: a}\n- {role: viewer}": "entry 3",
	} {
		if _, err := auth.ParseGrants([]byte(text)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", text, err, says)
		}
	}
}

// issuer is an OIDC issuer with a key of its own.
type issuer struct {
	*httptest.Server

	key *ecdsa.PrivateKey
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	i := &issuer{key: key}
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{
			"issuer": i.URL, "jwks_uri": i.URL + "/keys", "authorization_endpoint": i.URL, "token_endpoint": i.URL,
			"id_token_signing_alg_values_supported": []string{"ES256"},
		})
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "k", Algorithm: "ES256", Use: "sig"}}})
	})
	i.Server = httptest.NewServer(mux)
	t.Cleanup(i.Close)
	return i
}

func (i *issuer) token(t *testing.T, key *ecdsa.PrivateKey, claims map[string]any) string {
	t.Helper()
	all := map[string]any{
		"iss": i.URL, "aud": "lockstep", "sub": "7", "email": "alice@example.com", "email_verified": true,
		"exp": time.Now().Add(time.Hour).Unix(), "iat": time.Now().Unix(),
	}
	for name, value := range claims {
		all[name] = value
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: key, KeyID: "k"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	token, err := jwt.Signed(signer).Claims(all).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return "Bearer " + token
}

func TestOIDC(t *testing.T) {
	i := newIssuer(t)
	b := auth.New(auth.Options{OIDCIssuer: i.URL, OIDCAudience: "lockstep", Grants: parse(t, `
- {user: "oidc:alice@example.com", role: editor, tenant: acme}
- {group: "oidc:ops", role: admin, tenant: "*"}
- {user: "kubernetes:7", role: admin, tenant: "*"}
`)})
	forger, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name   string
		key    *ecdsa.PrivateKey
		claims map[string]any
		want   api.Caller
		code   api.Code
	}{
		{"user", i.key, nil, api.Caller{Name: "oidc:alice@example.com", Role: api.Editor, Tenant: "acme"}, ""},
		{"group", i.key, map[string]any{"email": "o@example.com", "groups": []string{"ops"}}, api.Caller{Name: "oidc:o@example.com", Role: api.Admin, Tenant: "*"}, ""},
		{"nothing granted", i.key, map[string]any{"email": "eve@example.com"}, api.Caller{Name: "oidc:eve@example.com"}, ""},
		{"email not verified", i.key, map[string]any{"email_verified": false}, api.Caller{Name: "oidc:7"}, ""},
		{"forged", forger, nil, api.Caller{}, api.CodeUnauthenticated},
		{"for somebody else", i.key, map[string]any{"aud": "other"}, api.Caller{}, api.CodeUnauthenticated},
		{"expired", i.key, map[string]any{"exp": time.Now().Add(-time.Hour).Unix()}, api.Caller{}, api.CodeUnauthenticated},
		{"another issuer", i.key, map[string]any{"iss": "https://example.com"}, api.Caller{}, api.CodeUnauthenticated},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if caller, code := ask(t, b, i.token(t, tc.key, tc.claims)); caller != tc.want || code != tc.code {
				t.Fatalf("%+v %q, want %+v %q", caller, code, tc.want, tc.code)
			}
		})
	}
	t.Run("not reached", func(t *testing.T) {
		fresh := auth.New(auth.Options{OIDCIssuer: i.URL, OIDCAudience: "lockstep"})
		token := i.token(t, i.key, nil)
		i.Close()
		if _, code := ask(t, fresh, token); code != api.CodeUnavailable {
			t.Fatalf("code %q", code)
		}
	})
}

// TestKubernetes has a real API server review a real service account's token.
func TestKubernetes(t *testing.T) {
	config, err := clientcmd.BuildConfigFromFlags("", testenv.Kubeconfig(t))
	if err != nil {
		t.Fatal(err)
	}
	line, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfigAndClient(config, line)
	if err != nil {
		t.Fatal(err)
	}
	ctx, namespace := t.Context(), "auth-"+testenv.RandomID(8)
	if _, err := client.CoreV1().Namespaces().Create(ctx, &core.Namespace{ObjectMeta: meta.ObjectMeta{Name: namespace}}, meta.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = client.CoreV1().Namespaces().Delete(context.Background(), namespace, meta.DeleteOptions{})
		utilnet.CloseIdleConnectionsFor(line.Transport)
	})
	if _, err := client.CoreV1().ServiceAccounts(namespace).Create(ctx, &core.ServiceAccount{ObjectMeta: meta.ObjectMeta{Name: "deployer"}}, meta.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	issued, err := client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, "deployer", &authentication.TokenRequest{}, meta.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	user := "kubernetes:system:serviceaccount:" + namespace + ":deployer"
	asked := &counted{TokenReviewer: client.AuthenticationV1().TokenReviews()}
	b := auth.New(auth.Options{Kubernetes: asked, Grants: parse(t, `
- {user: "`+user+`", role: editor, tenant: acme}
`)})
	for range 3 {
		if caller, code := ask(t, b, "Bearer "+issued.Status.Token); caller != (api.Caller{Name: user, Role: api.Editor, Tenant: "acme"}) || code != "" {
			t.Fatalf("%+v %q", caller, code)
		}
	}
	if asked.n != 1 {
		t.Errorf("the cluster was asked %d times", asked.n)
	}
	for range 2 {
		if _, code := ask(t, b, "Bearer "+issued.Status.Token+"x"); code != api.CodeUnauthenticated {
			t.Fatalf("a spoiled token: %q", code)
		}
	}
}

type counted struct {
	auth.TokenReviewer

	n int
}

func (c *counted) Create(ctx context.Context, review *authentication.TokenReview, opts meta.CreateOptions) (*authentication.TokenReview, error) {
	c.n++
	return c.TokenReviewer.Create(ctx, review, opts)
}

// The example of docs/access.md is a file of grants, and the page names every
// role.
func TestDocument(t *testing.T) {
	page, err := os.ReadFile("../../../docs/access.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```yaml\n")
	example, _, found := strings.Cut(rest, "```")
	if grants, err := auth.ParseGrants([]byte(example)); err != nil || !found || len(grants) != 3 {
		t.Errorf("the example is not one: %d grants, %v", len(grants), err)
	}
	for role := api.Viewer; role <= api.Admin; role++ {
		if !strings.Contains(string(page), "\n| `"+role.String()+"` |") {
			t.Errorf("the page does not say what %s may do", role)
		}
	}
}

// FuzzAuthenticate feeds headers to all verifiers that need no server.
func FuzzAuthenticate(f *testing.F) {
	for _, seed := range []string{"", "Bearer x", "Bearer a.b.c", "Bearer a.eyJpc3MiOiJ4In0.c", "Basic", "\x00"} {
		f.Add(seed)
	}
	b := auth.New(auth.Options{OIDCIssuer: "http://127.0.0.1:1", OIDCAudience: "a"})
	f.Fuzz(func(t *testing.T, header string) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/regions", nil)
		r.Header["Authorization"] = []string{header}
		if caller, _ := b.Authenticate(r); caller.Role != api.Anyone {
			t.Fatalf("%q became %+v", header, caller)
		}
	})
}

// FuzzParseGrants looks for grants that come through with nothing granted to
// anybody in particular.
func FuzzParseGrants(f *testing.F) {
	f.Add("- {user: u, role: admin, tenant: a}")
	f.Add("- {sha256: ab, role: viewer}")
	f.Fuzz(func(t *testing.T, text string) {
		grants, err := auth.ParseGrants([]byte(text))
		if err != nil {
			return
		}
		for _, g := range grants {
			if g.SHA256+g.User+g.Group == "" || g.Tenant == "" {
				t.Fatalf("%q gave %+v", text, g)
			}
		}
	})
}
