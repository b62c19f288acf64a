package api

import (
	"context"
	"net/http"

	"go.uber.org/zap"
)

type healthOutput struct {
	Body struct {
		Status string `json:"status" enum:"ok"`
	}
}

func (a *api) healthRoutes() {
	register(a, operation{
		method: http.MethodGet, path: "/healthz", id: "getHealth", tag: "Health",
		summary: "Whether the process answers",
	}, func(context.Context, *struct{}) (*healthOutput, error) { return healthy(), nil })
	register(a, operation{
		method: http.MethodGet, path: "/readyz", id: "getReadiness", tag: "Health",
		summary: "Whether the service can do its work", description: "503 while it cannot reach what it needs.",
	}, func(ctx context.Context, _ *struct{}) (*healthOutput, error) {
		if err := a.Ready(ctx); err != nil {
			a.log.Warn("not ready", zap.Error(err))
			return nil, fail(CodeUnavailable, "the service is not ready: its log says why").retryAfter(retrySeconds)
		}
		return healthy(), nil
	})
}

func healthy() *healthOutput {
	out := &healthOutput{}
	out.Body.Status = "ok"
	return out
}
