package kube

import (
	"context"
	"encoding/base64"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/lockstep-io/lockstep/internal/resource"
)

// EnsureSecret makes a Secret be there and returns what is in it. Its values
// are generated once: those of a Secret that exists are kept, whatever claim
// made it, because someone may be using them already.
func (c *Client) EnsureSecret(ctx context.Context, owner resource.Owner, namespace, name string, generate func() map[string][]byte) (data map[string][]byte, waiting string, err error) {
	ref := Ref{Secret, namespace, name}
	for range attempts {
		live, err := c.Get(ctx, ref)
		if err != nil {
			return nil, "", err
		}
		if live == nil {
			live, waiting, err = c.createSecret(ctx, owner, ref, generate)
		} else {
			live, waiting, err = c.keepSecret(ctx, owner, ref, live)
		}
		if err != nil || waiting != "" {
			return nil, waiting, err
		}
		if live != nil {
			data, err := secretData(ref, live)
			return data, "", err
		}
	}
	return nil, "", fmt.Errorf("ensuring %s: %w", ref, ErrContended)
}

// createSecret returns nil without an error if the Secret has appeared
// meanwhile.
func (c *Client) createSecret(ctx context.Context, owner resource.Owner, ref Ref, generate func() map[string][]byte) (*unstructured.Unstructured, string, error) {
	a, err := c.newApply(owner, secretObject(ref, generate()))
	if err != nil {
		return nil, "", err
	}
	// The hash of what was applied is no one's need here, and says something
	// about a secret.
	unstructured.RemoveNestedField(a.want.Object, "metadata", "annotations", AnnotationHash)
	done, applied, err := a.create(ctx)
	if !done || err != nil {
		return nil, "", err
	}
	return applied.Object, applied.Waiting, nil
}

// ReplaceSecret makes a Secret hold other values than it does: exactly data.
func (c *Client) ReplaceSecret(ctx context.Context, owner resource.Owner, namespace, name string, data map[string][]byte) (waiting string, err error) {
	a, err := c.newApply(owner, secretObject(Ref{Secret, namespace, name}, data))
	if err != nil {
		return "", err
	}
	unstructured.RemoveNestedField(a.want.Object, "metadata", "annotations", AnnotationHash) // as in createSecret
	for range attempts {
		done, applied, err := a.once(ctx)
		if done || err != nil {
			return applied.Waiting, err
		}
	}
	return "", fmt.Errorf("replacing %s: %w", a.ref, ErrContended)
}

func secretObject(ref Ref, data map[string][]byte) *unstructured.Unstructured {
	obj, content := ref.Object(), make(map[string]any)
	for key, value := range data {
		content[key] = base64.StdEncoding.EncodeToString(value)
	}
	obj.Object["data"], obj.Object["type"] = content, "Opaque"
	return obj
}

// keepSecret leaves the values of a Secret of ours alone. It returns nil
// without an error if the Secret changed while being sealed.
func (c *Client) keepSecret(ctx context.Context, owner resource.Owner, ref Ref, live *unstructured.Unstructured) (*unstructured.Unstructured, string, error) {
	mark, err := inspect(owner, ref, live)
	if err != nil {
		return nil, "", err
	}
	if terminating(live) {
		return nil, ref.String() + " terminating", nil
	}
	if mark.sealed {
		return live, "", nil
	}
	sealed, err := c.seal(ctx, owner, ref, live)
	return sealed, "", err
}

// ReadSecret returns what is in a Secret, whoever owns it. It is always read
// from the API server: Secrets are not cached.
func (c *Client) ReadSecret(ctx context.Context, namespace, name string) (data map[string][]byte, found bool, err error) {
	ref := Ref{Secret, namespace, name}
	live, err := c.Get(ctx, ref)
	if live == nil || err != nil {
		return nil, false, err
	}
	data, err = secretData(ref, live)
	return data, err == nil, err
}

// RemoveSecret deletes it, and waits until it is gone.
func (c *Client) RemoveSecret(ctx context.Context, owner resource.Owner, namespace, name string) (waiting string, err error) {
	return c.Remove(ctx, owner, Ref{Secret, namespace, name})
}

func secretData(ref Ref, secret *unstructured.Unstructured) (map[string][]byte, error) {
	encoded, _, err := unstructured.NestedStringMap(secret.Object, "data")
	if err != nil {
		return nil, fmt.Errorf("reading %s: its data is not a map of strings", ref)
	}
	data := make(map[string][]byte, len(encoded))
	for key, value := range encoded {
		if data[key], err = base64.StdEncoding.DecodeString(value); err != nil {
			return nil, fmt.Errorf("reading %s: the value of %q is not base64", ref, key)
		}
	}
	return data, nil
}
