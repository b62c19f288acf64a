package api

import (
	"context"
	"net/http"
	"slices"

	"github.com/lockstep-io/lockstep/internal/resource"
	"github.com/lockstep-io/lockstep/pkg/engine/mongostore"
)

const versionsPath = functionPath + "/versions"

// FunctionVersion is one version of a function, in lists without its code.
type FunctionVersion struct {
	resource.FunctionVersion

	Code    string `json:"code,omitempty" doc:"Absent in lists."`
	Bytes   int    `json:"bytes" doc:"The size of the code."`
	Current bool   `json:"current" doc:"Whether it is the function's present code."`
}

func version(v resource.FunctionVersion, fn *resource.CloudFunction) FunctionVersion {
	return FunctionVersion{FunctionVersion: v, Code: v.Code, Bytes: len(v.Code), Current: v.Version == fn.Version}
}

type versionInput struct {
	FunctionParams
	Version int64 `path:"version" minimum:"1" doc:"The version's number."`
}

type versionOutput struct {
	Body FunctionVersion
}

type versionsOutput struct {
	Body struct {
		Items []FunctionVersion `json:"items" nullable:"false"`
	}
}

type rollbackInput struct {
	FunctionParams
	MatchParams
	WaitParams
	RepeatParams
	Body rollback
}

type rollback struct {
	Version int64 `json:"version" minimum:"1" doc:"The version to go back to."`
}

func (a *api) versionRoutes() {
	register(a, operation{
		method: http.MethodGet, path: versionsPath, id: "listFunctionVersions", tag: tagFunctions, role: Viewer,
		summary: "List a function's versions", description: "The latest first, without their code: as many as there is room for.",
	}, a.listVersions)
	register(a, operation{
		method: http.MethodGet, path: versionsPath + "/{version}", id: "getFunctionVersion", tag: tagFunctions, role: Viewer,
		summary: "Read a version of a function",
	}, a.getVersion)
	register(a, operation{
		method: http.MethodPost, path: functionPath + "/rollback", id: "rollbackFunction", tag: tagFunctions, role: Editor,
		status: http.StatusAccepted, summary: "Go back to an earlier version of a function",
		description: "Its code becomes a new version. Stages serve it once they are published again.",
	}, a.rollback)
}

func (a *api) function(ctx context.Context, in *FunctionParams) (*resource.CloudFunction, error) {
	if _, err := a.gateway(ctx, in.GatewayID); err != nil {
		return nil, err
	}
	fn, err := a.functions.Get(ctx, in.id())
	if err != nil {
		return nil, in.missing(err)
	}
	return fn, nil
}

func (a *api) listVersions(ctx context.Context, in *FunctionParams) (*versionsOutput, error) {
	fn, err := a.function(ctx, in)
	if err != nil {
		return nil, err
	}
	out := &versionsOutput{}
	out.Body.Items = []FunctionVersion{}
	present, _ := fn.At(fn.Version)
	all := append(slices.Clone(fn.Versions), present)
	for i := len(all) - 1; i >= 0; i-- {
		v := version(all[i], fn)
		v.Code = ""
		out.Body.Items = append(out.Body.Items, v)
	}
	return out, nil
}

func (a *api) getVersion(ctx context.Context, in *versionInput) (*versionOutput, error) {
	fn, err := a.function(ctx, &in.FunctionParams)
	if err != nil {
		return nil, err
	}
	v, ok := fn.At(in.Version)
	if !ok {
		return nil, fail(CodeNotFound, "function %s has no version %d (any more)", in.Name, in.Version)
	}
	return &versionOutput{Body: version(v, fn)}, nil
}

func (a *api) rollback(ctx context.Context, in *rollbackInput) (*functionOutput, error) {
	if _, err := a.livingGateway(ctx, in.GatewayID); err != nil {
		return nil, err
	}
	fn, err := a.supersede(ctx, &in.FunctionParams, in.MatchParams, func(fn *resource.CloudFunction) (string, string, error) {
		v, ok := fn.At(in.Body.Version)
		if !ok {
			return "", "", invalid("body.version", in.Body.Version, "function %s has no version %d (any more): see its versions", in.Name, in.Body.Version)
		}
		return v.Runtime, v.Code, nil
	})
	if err != nil {
		return nil, in.missing(err)
	}
	return a.functions.await(ctx, accepted(fn, in.location()), in.WaitParams)
}

// supersede gives a function another code. The version is counted up from what
// was read, so nobody may have changed the function since.
func (a *api) supersede(
	ctx context.Context, in *FunctionParams, match MatchParams, next func(*resource.CloudFunction) (runtime, code string, err error),
) (*resource.CloudFunction, error) {
	return again(match, func() (*resource.CloudFunction, error) {
		fn, err := a.functions.Get(ctx, in.id())
		if err != nil {
			return nil, err
		}
		runtime, code, err := next(fn)
		if superseded(ctx, fn, code, err) {
			return fn, nil
		}
		if changed := match.check(resource.KindCloudFunction, &fn.Meta); changed != nil {
			return nil, changed
		}
		if err != nil {
			return nil, err
		}
		if err := a.aim(ctx, fn.Version+1); err != nil {
			return nil, err
		}
		now, err := a.functions.Now(ctx)
		if err != nil {
			return nil, err
		}
		return a.functions.change(ctx, in.id(), mongostore.Intent{IfGeneration: &fn.Generation, Fields: map[string]any{
			"version": fn.Version + 1, "runtime": runtime, "code": code, "versions": fn.Superseded(now),
		}})
	})
}

// superseded reports whether the request is a repetition of one that has given
// the function its code already. The code of the version tells it from one that
// somebody else has made; where there is nothing left to compare, that is
// because of what was made since.
func superseded(ctx context.Context, fn *resource.CloudFunction, code string, unknown error) bool {
	aim, is := counted(ctx, fn.Version)
	if !is {
		return false
	}
	made, kept := fn.At(aim)
	return !kept || unknown != nil || made.Code == code
}
