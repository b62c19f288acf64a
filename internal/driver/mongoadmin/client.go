package mongoadmin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/lockstep-io/lockstep/internal/resource"
)

// Options are a client's settings. The zero value is usable.
type Options struct {
	// Timeout bounds every single command, 10 s if it is 0.
	Timeout time.Duration
	// Configure, if set, may change the driver's options: monitors for metrics
	// and traces.
	Configure func(*options.ClientOptions)
}

// Client administers one region's server. It is safe for concurrent use.
type Client struct {
	region  string
	uri     string
	timeout time.Duration
	mongo   *mongo.Client
}

// New returns the client of a region's server. It does no I/O: a server that
// cannot be reached shows with the first command.
func New(region resource.Region, opts Options) (*Client, error) {
	if opts.Timeout == 0 {
		opts.Timeout = 10 * time.Second
	}
	config := options.Client().ApplyURI(region.RuntimeMongoURI).
		SetAppName("lockstep").SetServerSelectionTimeout(opts.Timeout)
	if opts.Configure != nil {
		opts.Configure(config)
	}
	client, err := mongo.Connect(config)
	if err != nil {
		// Not the driver's own words: they can quote the URI, and so the password.
		return nil, fmt.Errorf("region %q: runtimeMongoUri is not a valid MongoDB URI: "+
			"write it as mongodb://user:password@host:port/, with special characters of the password percent-encoded", region.Name)
	}
	return &Client{region: region.Name, uri: region.RuntimeMongoURI, timeout: opts.Timeout, mongo: client}, nil
}

// Close ends the client's connections.
func (c *Client) Close(ctx context.Context) error {
	return c.wrap("disconnecting", c.mongo.Disconnect(ctx))
}

// Ping asks whether the server answers.
func (c *Client) Ping(ctx context.Context) error {
	_, err := c.command(ctx, bson.D{{Key: "ping", Value: 1}})
	return c.wrap("pinging", err)
}

// call bounds one command.
func (c *Client) call(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, c.timeout)
}

// command runs one command of the administrator's within the timeout.
func (c *Client) command(ctx context.Context, command bson.D) (bson.Raw, error) {
	ctx, cancel := c.call(ctx)
	defer cancel()
	return c.mongo.Database(adminDatabase).RunCommand(ctx, command).Raw()
}

func (c *Client) wrap(doing string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("runtime MongoDB of region %q: %s: %w", c.region, doing, err)
}

// hasCode reports whether the server answered with the given error code.
func hasCode(err error, code int) bool {
	var server mongo.ServerError
	return errors.As(err, &server) && server.HasErrorCode(code)
}
