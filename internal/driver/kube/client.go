package kube

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"go.uber.org/zap"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	authentication "k8s.io/client-go/kubernetes/typed/authentication/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/lockstep-io/lockstep/internal/resource"
)

// FieldManager is the name under which the API server records the fields that
// this driver sets.
const FieldManager = "lockstep"

// Options are a client's settings. The zero value is usable.
type Options struct {
	// Timeout bounds every single call to the API server, 10 s if it is 0.
	Timeout time.Duration
	// QPS and Burst bound the client's requests per second, 100 and 200 if
	// they are 0.
	QPS   float32
	Burst int
	// Log receives what no caller is told: failing watches. Nil is silence.
	Log *zap.Logger
	// WrapTransport, if set, wraps the HTTP transport: for metrics and traces,
	// and for tests that inject faults.
	WrapTransport func(http.RoundTripper) http.RoundTripper
}

// Client drives one region's cluster. It is safe for concurrent use.
type Client struct {
	region   string
	defaults resource.Region
	timeout  time.Duration
	log      *zap.Logger

	dynamic   dynamic.Interface
	metadata  metadata.Interface
	discovery discovery.DiscoveryInterface
	reviews   authentication.TokenReviewInterface
	cache     *cache
	// transport is kept to close its idle connections at the end.
	transport http.RoundTripper
}

// New returns the client of a region's cluster. It does no I/O but reading the
// kubeconfig: a cluster that cannot be reached shows with the first call.
func New(region resource.Region, opts Options) (*Client, error) {
	config, err := restConfig(region)
	if err != nil {
		return nil, err
	}
	opts = opts.withDefaults()
	config.QPS, config.Burst = opts.QPS, opts.Burst
	config.UserAgent = "lockstep"
	if opts.WrapTransport != nil {
		config.Wrap(opts.WrapTransport)
	}
	return build(region, config, opts)
}

func build(region resource.Region, config *rest.Config, opts Options) (*Client, error) {
	fail := func(err error) (*Client, error) {
		return nil, fmt.Errorf("region %q: making a client of its kubeconfig: %w", region.Name, err)
	}
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return fail(err)
	}
	dyn, err := dynamic.NewForConfigAndClient(config, httpClient)
	if err != nil {
		return fail(err)
	}
	meta, err := metadata.NewForConfigAndClient(config, httpClient)
	if err != nil {
		return fail(err)
	}
	disco, err := discovery.NewDiscoveryClientForConfigAndClient(config, httpClient)
	if err != nil {
		return fail(err)
	}
	authn, err := authentication.NewForConfigAndClient(config, httpClient)
	if err != nil {
		return fail(err)
	}
	c := &Client{
		reviews: authn.TokenReviews(),
		region:  region.Name, defaults: region, timeout: opts.Timeout, log: opts.Log.With(zap.String("region", region.Name)),
		dynamic: dyn, metadata: meta, discovery: disco, transport: httpClient.Transport,
	}
	c.cache = newCache(c)
	return c, nil
}

func (o Options) withDefaults() Options {
	if o.Timeout == 0 {
		o.Timeout = 10 * time.Second
	}
	if o.QPS == 0 {
		o.QPS = 100
	}
	if o.Burst == 0 {
		o.Burst = 200
	}
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	return o
}

// TokenReviews asks the cluster whom a token stands for.
func (c *Client) TokenReviews() authentication.TokenReviewInterface { return c.reviews }

// Region is the name of the region that the client drives.
func (c *Client) Region() string { return c.region }

// Ping asks the API server whether it is ready to serve.
func (c *Client) Ping(ctx context.Context) error {
	ctx, cancel := c.call(ctx)
	defer cancel()
	if _, err := c.discovery.RESTClient().Get().AbsPath("/readyz").DoRaw(ctx); err != nil {
		return fmt.Errorf("region %q: asking its API server whether it is ready: %w", c.region, err)
	}
	return nil
}

// call bounds one call to the API server.
func (c *Client) call(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, c.timeout)
}

// resource is the API of ref's type, in its namespace.
func (c *Client) resource(ref Ref) dynamic.ResourceInterface {
	api := c.dynamic.Resource(ref.Type.GVR())
	if ref.Type.Namespaced {
		return api.Namespace(ref.Namespace)
	}
	return api
}
