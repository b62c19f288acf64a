package auth

import (
	"context"
	"sync"
	"time"

	authentication "k8s.io/api/authentication/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-io/lockstep/internal/api"
)

// TokenReviewer is Kubernetes' API for reviewing tokens, as client-go has it.
type TokenReviewer interface {
	Create(ctx context.Context, review *authentication.TokenReview, opts meta.CreateOptions) (*authentication.TokenReview, error)
}

// Answers about tokens are kept for a while, so that not every request asks
// the cluster: a token that was revoked works for as long at most.
const (
	keepKnown   = time.Minute
	keepUnknown = 10 * time.Second
	keepAtMost  = 10_000
)

// reviews verifies tokens by asking the cluster.
type reviews struct {
	reviewer TokenReviewer
	grants   Grants
	now      func() time.Time

	mu   sync.Mutex
	kept map[string]review // by the token's hash
}

type review struct {
	id    identity
	valid bool
	until time.Time
}

func newReviews(opts Options) *reviews {
	return &reviews{reviewer: opts.Kubernetes, grants: opts.Grants, now: opts.Now, kept: map[string]review{}}
}

func (r *reviews) verify(ctx context.Context, token string) (api.Caller, error) {
	answer, err := r.ask(ctx, token)
	if err != nil {
		return api.Caller{}, api.Unavailable("the cluster that reviews tokens cannot be reached", err)
	}
	if !answer.valid {
		return api.Caller{}, errNotMine
	}
	return r.grants.caller(answer.id, r.now()), nil
}

func (r *reviews) ask(ctx context.Context, token string) (review, error) {
	hash := Hash(token)
	r.mu.Lock()
	answer, ok := r.kept[hash]
	r.mu.Unlock()
	if ok && r.now().Before(answer.until) {
		return answer, nil
	}
	done, err := r.reviewer.Create(ctx, &authentication.TokenReview{
		Spec: authentication.TokenReviewSpec{Token: token},
	}, meta.CreateOptions{})
	if err != nil {
		return review{}, err
	}
	answer = review{until: r.now().Add(keepUnknown)}
	if status := done.Status; status.Authenticated && status.User.Username != "" {
		answer = review{id: identityOf(status.User), valid: true, until: r.now().Add(keepKnown)}
	}
	r.keep(hash, answer)
	return answer, nil
}

func identityOf(user authentication.UserInfo) identity {
	name := "kubernetes:" + user.Username
	id := identity{name: name, users: []string{name}}
	for _, group := range user.Groups {
		id.groups = append(id.groups, "kubernetes:"+group)
	}
	return id
}

// keep remembers an answer; when there are too many, all that are out of date
// are forgotten, and then any.
func (r *reviews) keep(hash string, answer review) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.kept) >= keepAtMost {
		for h, a := range r.kept {
			if !r.now().Before(a.until) {
				delete(r.kept, h)
			}
		}
		if len(r.kept) >= keepAtMost {
			clear(r.kept)
		}
	}
	r.kept[hash] = answer
}
