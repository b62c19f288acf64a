package api

import (
	"context"
	"net/http"
	"time"
)

// Replica is one that lives.
type Replica struct {
	Name   string    `json:"name"`
	Since  time.Time `json:"since" doc:"When it joined."`
	SeenAt time.Time `json:"seenAt" doc:"When it last said that it lives."`
	Shards []int     `json:"shards" nullable:"false" doc:"The shards that fall to it: it is the first to claim their documents."`
}

// Shards is how the documents are divided among the live replicas, as the one
// that is asked sees it.
type Shards struct {
	At      time.Time `json:"at" doc:"The time by the database's clock, as all times here."`
	SeenBy  string    `json:"seenBy" doc:"The replica that answers."`
	Divided bool      `json:"divided" doc:"Whether documents are divided: they are not while one replica lives, to which all fall."`
	Count   int       `json:"count" doc:"How many shards there are."`
	Moved   int       `json:"moved" doc:"How many times a shard has changed hands since the replica that answers began."`
	Items   []Replica `json:"items" nullable:"false" doc:"The live replicas, by name."`
}

// ShardView returns how a replica sees the shards. It is not ok while the
// replica does not know who lives.
type ShardView func() (seen Shards, ok bool)

type shardsOutput struct {
	Body Shards
}

func (a *api) shardRoutes() {
	register(a, operation{
		method: http.MethodGet, path: "/v1/shards", id: "listShards", tag: "Replicas", role: Viewer,
		summary: "List the live replicas, and the shards that fall to each",
		description: "For operators. A replica claims first what falls to it, and the rest a tick later. " +
			"Replicas that see each other come and go at different moments answer differently for some seconds.",
	}, a.listShards)
}

func (a *api) listShards(ctx context.Context, _ *struct{}) (*shardsOutput, error) {
	if err := operatorsOnly(ctx, "replicas and their shards"); err != nil {
		return nil, err
	}
	now, err := a.gateways.Now(ctx)
	if err != nil {
		return nil, err
	}
	seen := Shards{}
	if a.Shards != nil {
		var ok bool
		if seen, ok = a.Shards(); !ok {
			return nil, fail(CodeUnavailable, "this replica does not know yet, or any more, which replicas live: repeat the request in %s seconds",
				retrySeconds).retryAfter(retrySeconds)
		}
	}
	seen.At, seen.Divided = now, len(seen.Items) > 1
	if seen.Items == nil {
		seen.Items = []Replica{}
	}
	return &shardsOutput{Body: seen}, nil
}
