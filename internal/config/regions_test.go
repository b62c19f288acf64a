package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

const twoRegions = `
- name: eu
  kubeconfig: /etc/lockstep/eu
  ingressClass: apisix
  domainSuffix: eu.example.com
  tls: true
  wildcardSecret: ingress/wildcard
  clusterIssuer: letsencrypt
  runtimeMongoUri: mongodb://admin:hunter2@eu:27017
  runtimeImage: runtime:1
  runtimeReplicas: 2
- name: us
  ingressClass: apisix
  domainSuffix: us.example.com
  clusterIssuer: letsencrypt
  runtimeMongoUri: mongodb://admin:hunter2@us:27017
  runtimeImage: runtime:1
  apisixAcceptance: apiserver
`

var fileOnly = []string{"LOCKSTEP_MONGODB_URI=mongodb://db", "LOCKSTEP_REGIONS=regions.yaml"}

func TestRegionsFile(t *testing.T) {
	c, err := Load(nil, system(twoRegions, fileOnly...))
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Regions) != 2 || c.Regions[0].Name != "eu" || c.Regions[1].ApisixAcceptance != "apiserver" {
		t.Errorf("got %v", c.Regions)
	}
	if c.Regions[1].RuntimeReplicas != 1 || c.Regions[0].ApisixAcceptance != "controller" {
		t.Errorf("missing fields did not take their defaults: %v", c.Regions)
	}
	again, wrong := DecodeRegions([]byte(twoRegions))
	if len(wrong) > 0 || fmt.Sprint(again) != fmt.Sprint(c.Regions) {
		t.Errorf("got %v, %v", again, wrong)
	}
}

func TestRegionsFileOrOptions(t *testing.T) {
	_, err := Load([]string{"--runtime-image=x"}, system(twoRegions, fileOnly...))
	if err == nil || !strings.Contains(err.Error(), "--runtime-image (LOCKSTEP_RUNTIME_IMAGE) is set beside --regions") {
		t.Errorf("got %v", err)
	}
}

func TestRegionsFileMistakes(t *testing.T) {
	one := func(old, changed string) string { return strings.Replace(twoRegions, old, changed, 1) }
	for name, test := range map[string]struct{ file, want string }{
		"unknown field":   {one("domainSuffix: eu", "domainSufix: eu"), `regions.yaml: region "eu" domainSufix is no field of a region: use name, kubeconfig,`},
		"case":            {one("tls: true", "TLS: true"), `region "eu" TLS is no field of a region`},
		"duplicate field": {one("  kubeconfig: /etc/lockstep/eu", "  name: eu"), `is not YAML or JSON (line`},
		"type":            {one("runtimeReplicas: 2", "runtimeReplicas: two"), `runtimeReplicas is a string: use a int32`},
		"secret type":     {one("name: eu", "name: [hunter2]"), `name is a array: use a string`},
		"value":           {one("runtimeReplicas: 2", "runtimeReplicas: 0"), `region "eu" runtimeReplicas is "0": use a whole number`},
		"missing":         {one("  runtimeImage: runtime:1\n", ""), `region "eu" runtimeImage is not set: set it to the image`},
		"nameless":        {one("name: us", "kubeconfig: /x"), `region 2 name is not set`},
		"same name":       {one("name: us", "name: eu"), `region "eu" name is that of another region`},
		"uri":             {one("@us:27017", "@us:port"), `region "us" runtimeMongoUri is not the address of a MongoDB`},
		"no yaml":         {"- name: \"hunter2\n- x", "regions.yaml: is not YAML or JSON (line"},
		"no list":         {"name: eu", "regions.yaml: holds no list of regions: write a YAML or JSON list"},
		"empty":           {"", "regions.yaml: holds no list of regions"},
		"empty list":      {"[]", "regions.yaml: holds no list of regions"},
		"no mapping":      {"[hunter2]", "region 1 is not a mapping"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Load(nil, system(test.file, fileOnly...))
			var mistakes Mistakes
			if !errors.As(err, &mistakes) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v\nwant %s", err, test.want)
			}
			if strings.Contains(fmt.Sprint(err), "hunter2") {
				t.Errorf("the message shows a secret: %v", err)
			}
		})
	}
}

// FuzzDecodeRegions: whatever a file holds, the decoder neither panics nor
// lets a region through that the rest of the service would not take, and what
// it lets through stays the same when written and read again.
func FuzzDecodeRegions(f *testing.F) {
	f.Add([]byte(twoRegions))
	f.Add([]byte(`[{"name":"a","tls":true}]`))
	f.Add([]byte("- name: &a b\n- *a"))
	f.Add([]byte("- name: a\n  name: b"))
	f.Add([]byte("- {runtimeReplicas: 1e99}"))
	f.Add([]byte("\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		regions, mistakes := DecodeRegions(data)
		if len(mistakes) > 0 {
			if regions != nil {
				t.Error("regions were returned beside mistakes")
			}
			return
		}
		names := map[string]bool{}
		for i := range regions {
			if err := regions[i].Validate(); err != nil {
				t.Errorf("a wrong region was let through: %v", err)
			}
			if names[regions[i].Name] {
				t.Errorf("two regions have the name %q", regions[i].Name)
			}
			names[regions[i].Name] = true
		}
		type plain Regions
		written, err := json.Marshal(plain(regions))
		if err != nil {
			t.Fatal(err)
		}
		again, mistakes := DecodeRegions(written)
		if len(mistakes) > 0 {
			t.Fatalf("what was let through is refused when read again: %v", mistakes)
		}
		for i := range again {
			if again[i] != regions[i] {
				t.Errorf("region %d changed on the way", i)
			}
		}
	})
}
