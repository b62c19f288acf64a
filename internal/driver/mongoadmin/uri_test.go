package mongoadmin

import (
	"strings"
	"testing"

	"github.com/lockstep-io/lockstep/internal/resource"
)

// Guards: the instance gets the region's servers and options, its own user
// (whatever is in its password), and nothing of the administrator's.
func TestRuntimeURI(t *testing.T) {
	t.Parallel()
	for server, want := range map[string]string{
		"mongodb://127.0.0.1:27017/": "mongodb://u:p%40%2F@127.0.0.1:27017/db?authSource=admin",
		"mongodb://root:r%40@a:1,b:2/?replicaSet=rs&authSource=x&authmechanism=PLAIN": "mongodb://u:p%40%2F@a:1,b:2/db?authSource=admin&replicaSet=rs",
		"mongodb+srv://root:r@cluster.example.com":                                    "mongodb+srv://u:p%40%2F@cluster.example.com/db?authSource=admin",
	} {
		if got := runtimeURI(server, "db", "u", "p@/"); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// Guards: a wrong URI is found at the start, by an error that names the region
// and the field, and does not show the password in it.
func TestBadURI(t *testing.T) {
	t.Parallel()
	for _, uri := range []string{"", "http://root:hidden@x/", "mongodb://root:hid/den@x/", "mongodb://root:hidden@x:port/"} {
		_, err := New(resource.Region{Name: "eu", RuntimeMongoURI: uri}, Options{})
		if err == nil || !strings.Contains(err.Error(), `region "eu": runtimeMongoUri`) || strings.Contains(err.Error(), "hid") {
			t.Errorf("%q: %v", uri, err)
		}
	}
}
