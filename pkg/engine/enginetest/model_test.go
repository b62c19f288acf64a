package enginetest_test

import (
	"os"
	"regexp"
	"slices"
	"testing"
)

// beyondModel are the properties that the model of the protocol leaves to the
// simulator: it knows no intents, no backoffs and no other documents.
var beyondModel = []string{"IntentIsTheUsers", "NobodyStarves", "WaitsBackOff"}

// The model of the protocol (docs/model) and the simulator mean the same by
// the same names.
func TestModelNames(t *testing.T) {
	model, check := read(t, "../../../docs/model/claim.pml"), read(t, "../../../docs/model/check.sh")
	var properties []string
	for _, m := range regexp.MustCompile(`(?m)^(?:bool ([A-Z]\w+) = true;|ltl (\w+) )`).FindAllStringSubmatch(model, -1) {
		properties = append(properties, m[1]+m[2])
	}
	want := slices.DeleteFunc(constants(t, "Property"), func(p string) bool { return slices.Contains(beyondModel, p) })
	slices.Sort(properties)
	slices.Sort(want)
	if !slices.Equal(properties, want) {
		t.Errorf("the model has the properties %v, the simulator %v", properties, want)
	}

	protections := constants(t, "Protection")
	checks := regexp.MustCompile(`(?m)(?:^|')without (?:'([^']+)'|"([^$"]+)"|(expiry of locks)')`).
		FindAllStringSubmatch(check, -1)
	for _, m := range checks {
		if p := m[1] + m[2] + m[3]; !slices.Contains(protections, p) {
			t.Errorf("the simulator has no protection %q", p)
		}
	}
	if out, checked := definitions(model), definitions(check); !slices.Equal(out, checked) || len(out) == 0 {
		t.Errorf("what can be taken out is %v, what is taken out is %v", out, checked)
	}
}

// definitions are the names of those that take out a protection.
func definitions(text string) []string {
	names := regexp.MustCompile(`NO_[A-Z][A-Z_]*`).FindAllString(text, -1)
	slices.Sort(names)
	return slices.Compact(names)
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
