package prometheus

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/clock"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
)

const (
	// defaultTimeout limits a question for callers that set no deadline.
	defaultTimeout = 30 * time.Second
	// defaultRetries take some 0.7s in all: the restart of a proxy. A longer failure is left to the
	// next cycle.
	defaultRetries, mostRetries = 3, 10
	// defaultMaxBytes is forty times what 10,000 pods take.
	defaultMaxBytes = 64 << 20
)

// Config says where the store is and how to reach it. The fields are the
// PROMETHEUS_* settings of the operator.
type Config struct {
	// URL is the base of the API, with the path prefix if there is one. Its query parameters are
	// sent with every query (Thanos: dedup, partial_response).
	URL string
	// CACertPath names a PEM file of authorities to trust instead of the
	// system's. "" means the system's.
	CACertPath string
	// ClientCertPath and ClientKeyPath name the PEM files of the client's
	// certificate. Both or neither.
	ClientCertPath, ClientKeyPath string
	// ServerName is the name expected in the server's certificate. "" means the
	// host of URL.
	ServerName string
	// BearerToken is sent with every request. It takes precedence over TokenPath, a file that holds
	// the token: it is read for every question, and once more when the store refuses the token.
	// Both may begin with "Bearer ".
	BearerToken, TokenPath string
	// Headers are sent with every request, for example a tenant.
	Headers map[string]string
	// Username and Password are sent where there is no token.
	Username, Password string
	// InsecureSkipVerify accepts any server certificate. Certificate files are not checked then.
	InsecureSkipVerify bool
	// AllowInsecure accepts a URL that is not https.
	AllowInsecure bool
	// ProxyURL is the proxy to use. "" means that of the environment (HTTPS_PROXY, NO_PROXY), which
	// other clients of the process use too.
	ProxyURL string
	// Transport sends the requests with its own certificates, credentials and proxy. Of the other
	// fields only the token, the user name and the headers are used then. Nil means one made from
	// these fields.
	Transport http.RoundTripper
	// Timeout limits one question, its retries included. 0 means 30s.
	Timeout time.Duration
	// Retries is how often a question is repeated after a failure that may pass, 0 to 10, within
	// Timeout. Nil means 3.
	Retries *int
	// MaxBytes limits an answer, unpacked, in bytes, and its rows to one for each 256 bytes. 0
	// means 64 MiB.
	MaxBytes int64
	// Prefixes are the prefixes of vLLM's metric names.
	Prefixes query.Prefixes
	// OnWarning is called with the warnings and infos of an answer, such as a partial response of
	// Thanos. It must be safe for concurrent use. Nil drops them.
	OnWarning func(ask query.Question, warnings []string)
	// Clock times the waits between attempts. Nil means the system's.
	Clock clock.Clock
	// Rand varies these waits. The Source owns it from then on. Nil means one that the clock seeds.
	Rand *rand.Rand
}

// Configured returns the Config of the operator's settings.
func Configured(p config.Prometheus) Config {
	return Config{
		URL: p.BaseURL, AllowInsecure: p.AllowInsecure, CACertPath: p.CACertPath, ClientCertPath: p.ClientCertPath,
		ClientKeyPath: p.ClientKeyPath, ServerName: p.ServerName, InsecureSkipVerify: p.InsecureSkipVerify,
		BearerToken: p.BearerToken, TokenPath: p.TokenPath, Username: p.Username, Password: p.Password,
		Headers: p.Headers, Prefixes: p.MetricPrefixes, ProxyURL: p.ProxyURL, Timeout: p.Timeout, Retries: &p.Retries, MaxBytes: int64(p.MaxResponseBytes),
	}
}

// validate returns the parsed URL, or what is wrong with c.
func (c Config) validate() (*url.URL, error) {
	u, err := url.Parse(c.URL)
	if err != nil {
		return nil, fmt.Errorf("parsing the Prometheus URL: %w", parseError(err))
	}
	switch {
	case c.URL == "":
		return nil, errors.New("the Prometheus URL is empty")
	case u.Scheme != "https" && !c.AllowInsecure: // users and scripts know this text
		return nil, fmt.Errorf("HTTPS is required - URL must use https:// scheme: %s", shown(u, c.URL))
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, fmt.Errorf("the scheme of the Prometheus URL must be https or http: %s", shown(u, c.URL))
	case u.Host == "":
		return nil, fmt.Errorf("the Prometheus URL has no host: %s", shown(u, c.URL))
	case c.Timeout < 0:
		return nil, fmt.Errorf("the Prometheus timeout must not be negative: %s", c.Timeout)
	case c.Retries != nil && (*c.Retries < 0 || *c.Retries > mostRetries):
		return nil, fmt.Errorf("the number of retries of a Prometheus query must be 0 to %d: %d", mostRetries, *c.Retries)
	case c.MaxBytes < 0:
		return nil, fmt.Errorf("the limit of a Prometheus answer must not be negative: %d bytes", c.MaxBytes)
	}
	if _, err := c.proxy(); err != nil {
		return nil, err
	}
	return u, c.files().Check()
}

// proxy returns the proxy's URL, nil where none is configured.
func (c Config) proxy() (*url.URL, error) {
	if c.ProxyURL == "" {
		return nil, nil //nolint:nilnil // as http.ProxyURL takes it
	}
	u, err := url.Parse(c.ProxyURL)
	if err != nil {
		return nil, fmt.Errorf("parsing the URL of the proxy to Prometheus: %w", parseError(err))
	}
	if schemes := []string{"http", "https", "socks5", "socks5h"}; !slices.Contains(schemes, u.Scheme) || u.Host == "" {
		return nil, fmt.Errorf("the URL of the proxy to Prometheus must have a scheme of %s and a host: %s",
			strings.Join(schemes, ", "), shown(u, c.ProxyURL))
	}
	return u, nil
}

// parseError returns err without the URL, which may hold a password.
func parseError(err error) error {
	if parse, ok := errors.AsType[*url.Error](err); ok {
		return parse.Err
	}
	return err
}

// withDefaults returns a copy of c with every unset field filled in.
func (c Config) withDefaults() Config {
	c.Headers = maps.Clone(c.Headers)
	if c.Timeout == 0 {
		c.Timeout = defaultTimeout
	}
	if c.Retries == nil {
		c.Retries = new(defaultRetries)
	}
	if c.MaxBytes == 0 {
		c.MaxBytes = defaultMaxBytes
	}
	if c.OnWarning == nil {
		c.OnWarning = func(query.Question, []string) {}
	}
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	if c.Rand == nil {
		c.Rand = rand.New(rand.NewPCG(uint64(c.Clock.Now().UnixNano()), 0))
	}
	return c
}

// shown returns the URL as written, or without its password.
func shown(u *url.URL, written string) string {
	if u.User != nil {
		return u.Redacted()
	}
	return written
}
