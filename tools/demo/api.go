package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/lockstep-io/lockstep/pkg/engine"
)

// api calls the service's REST API as any user would. Each request goes to the
// next replica, and to the one after it if that does not answer.
type api struct {
	base  func(i int) string
	token string
	turn  atomic.Int64
}

func (a *api) call(ctx context.Context, method, path string, body, answer any) error {
	var err error
	for range replicaCount {
		if err = a.once(ctx, a.base(int(a.turn.Add(1)%replicaCount))+path, method, body, answer); err == nil {
			return nil
		}
		if _, answered := err.(*refusal); answered { //nolint:errorlint // made by once, never wrapped
			return err
		}
	}
	return err
}

// refusal is an answer that is not a success.
type refusal struct{ text string }

func (r *refusal) Error() string { return r.text }

func (a *api) once(ctx context.Context, url, method string, body, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	var payload io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return err
		}
		payload = bytes.NewReader(encoded)
	}
	req, err := http.NewRequestWithContext(ctx, method, url, payload)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+a.token)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // read to its end below
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode >= http.StatusMultipleChoices {
		return &refusal{fmt.Sprintf("%s %s: %s: %s", method, url, resp.Status, text)}
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(text, answer)
}

func (a *api) create(ctx context.Context, gateway map[string]any) (id string, err error) {
	var answer struct {
		GatewayID string `json:"gatewayId"`
	}
	err = a.call(ctx, http.MethodPost, "/v1/api-gateways", gateway, &answer)
	return answer.GatewayID, err
}

func (a *api) setState(ctx context.Context, id string, state engine.State) error {
	return a.call(ctx, http.MethodPatch, "/v1/api-gateways/"+id, map[string]any{"state": state}, nil)
}

func (a *api) gateways(ctx context.Context) ([]string, error) {
	var answer struct {
		Items []struct {
			GatewayID string `json:"gatewayId"`
		} `json:"items"`
	}
	if err := a.call(ctx, http.MethodGet, "/v1/api-gateways", nil, &answer); err != nil {
		return nil, err
	}
	var ids []string
	for _, item := range answer.Items {
		ids = append(ids, item.GatewayID)
	}
	return ids, nil
}
