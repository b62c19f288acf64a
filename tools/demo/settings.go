package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/lockstep-io/lockstep/internal/resource"
)

// writeSettings writes the files that the replicas are started with, and
// returns the flags that name them.
func writeSettings(o settings, token string) ([]string, error) {
	regions := filepath.Join(o.folder, "regions.json")
	if err := writeJSON(regions, []resource.Region{region(o, "eu"), region(o, "us")}); err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(token))
	tokens := filepath.Join(o.folder, "tokens.json")
	err := writeJSON(tokens, []map[string]any{{
		"name": "demo", "sha256": hex.EncodeToString(sum[:]), "role": "admin", "tenant": "*",
	}})
	if err != nil {
		return nil, err
	}
	return []string{
		"--regions", regions, "--auth-tokens-file", tokens,
		"--database", databaseName, "--log-format", "console",
	}, nil
}

// region is a region of the demo. Both are in one cluster, where no APISIX
// runs: its objects count as accepted when the API server has taken them.
func region(o settings, name string) resource.Region {
	return resource.Region{
		Name: name, Kubeconfig: o.kubeconfig, IngressClass: "apisix",
		DomainSuffix:    name + ".example.com",
		ClusterIssuer:   issuerName,
		RuntimeMongoURI: o.mongoURI, RuntimeImage: "lockstep-runtime:1", RuntimeReplicas: 2,
		ApisixAcceptance: resource.AcceptedByAPIServer,
	}
}

func writeJSON(path string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return fmt.Errorf("write the demo's settings: %w", err)
	}
	return nil
}
