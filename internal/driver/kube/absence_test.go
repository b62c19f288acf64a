package kube_test

import (
	"errors"
	"io"
	"testing"
	"time"

	"github.com/lockstep-io/lockstep/internal/driver/drivertest"
	"github.com/lockstep-io/lockstep/internal/driver/kube"
	"github.com/lockstep-io/lockstep/internal/resource"
)

// Guards (spec 1, fault 1): an error of the API is not absence. Read so, a blip
// during deletion leaves an object behind that no one looks for any more.
func TestErrorsAreNotAbsence(t *testing.T) {
	t.Parallel()
	id, faults := drivertest.Namespace(t), &drivertest.Faults{}
	c := drivertest.Client(t, kube.Options{WrapTransport: faults.Wrap, Timeout: 300 * time.Millisecond})
	apply(t, c, id, "a", 1)
	owner, ref := drivertest.Gateway(id, 1), configMapRef(id)
	path := resource.ConfigMapName(id)

	for name, hook := range map[string]drivertest.Hook{
		"internal error":    {Answer: drivertest.Reply(500, "application/json", `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"InternalError","code":500}`)},
		"forbidden":         {Answer: drivertest.Reply(403, "application/json", `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`)},
		"gateway timeout":   {Answer: drivertest.Reply(504, "text/html", "<html>")},
		"a proxy's 404":     {Answer: drivertest.Reply(404, "text/html", "<html>not found</html>")},
		"unknown path":      {Answer: drivertest.Reply(404, "text/plain", "404 page not found\n")},
		"another's 404":     {Answer: drivertest.Reply(404, "application/json", `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404,"details":{"name":"`+id+`","kind":"namespaces"}}`)},
		"broken connection": {Answer: drivertest.Broken(io.ErrUnexpectedEOF)},
		"no answer":         {Hang: true},
	} {
		hook.Method, hook.Path, hook.Always = "GET", path, true
		faults.On(hook)
		if gone, err := c.Delete(t.Context(), owner, ref); gone || err == nil {
			t.Errorf("%s: delete: gone %v, %v", name, gone, err)
		}
		if obj, err := c.Get(t.Context(), ref); obj != nil || err == nil {
			t.Errorf("%s: get: %v, %v", name, obj, err)
		}
		faults.Clear()
	}
	if drivertest.Live(t, ref) == nil {
		t.Error("the object was deleted")
	}
}

// Guards: a type whose CRD is not installed answers 404 to everything. That is
// not the absence of an object.
func TestMissingCRDIsNotAbsence(t *testing.T) {
	t.Parallel()
	id, c := drivertest.Namespace(t), drivertest.Client(t, kube.Options{})
	unknown := kube.Type{Group: "nobody.example.com", Version: "v1", Kind: "Nothing", Resource: "nothings", Namespaced: true}
	if gone, err := c.Delete(t.Context(), drivertest.Gateway(id, 1), kube.Ref{Type: unknown, Namespace: id, Name: "x"}); gone || err == nil {
		t.Errorf("gone %v, %v", gone, err)
	}
}

// Guards: an object that is really absent is, in a namespace that is there and
// in one that is not.
func TestAbsence(t *testing.T) {
	t.Parallel()
	id, c := drivertest.Namespace(t), drivertest.Client(t, kube.Options{})
	for _, gatewayID := range []string{id, drivertest.GatewayID()} {
		for _, typ := range kube.Types {
			ref := kube.Ref{Type: typ, Name: "not-there"}
			if typ.Namespaced {
				ref.Namespace = gatewayID
			}
			if gone, err := c.Delete(t.Context(), drivertest.Gateway(gatewayID, 1), ref); !gone || err != nil {
				t.Errorf("%s: gone %v, %v", ref, gone, err)
			}
		}
	}
}

// Guards: what is not ours is never taken over, changed or deleted, and says
// so in an error that no retry will cure.
func TestForeignObjectsAreLeftAlone(t *testing.T) {
	t.Parallel()
	for name, labels := range map[string]map[string]any{
		"not managed":     {"app": "theirs"},
		"another owner's": {resource.LabelManagedBy: "lockstep", resource.LabelKind: "ApiGateway", resource.LabelGateway: "other1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id, c := drivertest.Namespace(t), drivertest.Client(t, kube.Options{})
			theirs := configMap(id, "theirs")
			theirs.Object["metadata"].(map[string]any)["labels"] = labels
			create(t, theirs)
			before := drivertest.Live(t, configMapRef(id)).GetResourceVersion()
			owner := drivertest.Gateway(id, 9)

			_, err := c.Apply(t.Context(), owner, configMap(id, "ours"))
			if !errors.Is(err, kube.ErrForeign) || !isTerminal(err) {
				t.Errorf("apply: %v, want ErrForeign", err)
			}
			gone, err := c.Delete(t.Context(), owner, configMapRef(id))
			if gone || !errors.Is(err, kube.ErrForeign) {
				t.Errorf("delete: gone %v, %v, want ErrForeign", gone, err)
			}
			if after := drivertest.Live(t, configMapRef(id)).GetResourceVersion(); after != before {
				t.Error("it was written to")
			}
		})
	}
}
