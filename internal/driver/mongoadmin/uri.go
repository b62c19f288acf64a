package mongoadmin

import (
	"net/url"
	"strings"
)

// RuntimeURI is the URI by which an instance connects to its own database: the
// region's servers and options, with the gateway's user. It holds a password:
// it belongs in the instance's Secret and nowhere else.
func (c *Client) RuntimeURI(database, user, password string) string {
	return runtimeURI(c.uri, database, user, password)
}

// runtimeURI takes the URI apart by hand: net/url refuses several hosts.
func runtimeURI(server, database, user, password string) string {
	scheme, rest, _ := strings.Cut(server, "://")
	rest, query, _ := strings.Cut(rest, "?")
	hosts, _, _ := strings.Cut(rest, "/")
	hosts = hosts[strings.LastIndex(hosts, "@")+1:]

	options, err := url.ParseQuery(query)
	if err != nil {
		options = url.Values{}
	}
	// How the administrator logs in is not how the instance does.
	for _, option := range []string{"authMechanism", "authMechanismProperties", "authSource"} {
		for key := range options {
			if strings.EqualFold(key, option) {
				options.Del(key)
			}
		}
	}
	options.Set("authSource", adminDatabase)
	return scheme + "://" + url.UserPassword(user, password).String() + "@" + hosts + "/" + database + "?" + options.Encode()
}
