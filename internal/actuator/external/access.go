package external

import (
	"fmt"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/apiserver/pkg/endpoints/filters"
	typedauthenticationv1 "k8s.io/client-go/kubernetes/typed/authentication/v1"
	typedauthorizationv1 "k8s.io/client-go/kubernetes/typed/authorization/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/throttle"
)

// How long the answers of the API server are kept. Autoscalers ask every 15 s; caching a
// permission longer than that saves a review for each query. A client that has lost its
// permission can still read the number of replicas until then.
const (
	tokenTTL = 10 * time.Second
	allowTTL = time.Minute
	denyTTL  = 10 * time.Second
)

// Limits of the token reviews that this port causes at the API server.
const (
	tokenReviewRate  = 20 // a second
	tokenReviewBurst = 40
)

// An address may be refused refusedAtOnce times at once, and once more every refusedEvery.
const (
	refusedAtOnce = 20
	refusedEvery  = time.Second
)

// reviewTimeout limits one review.
const reviewTimeout = 10 * time.Second

// access decides which users may query: it delegates authentication and authorization to
// the API server.
type access struct {
	trust *trust
	wrap  func(http.Handler) http.Handler
}

// newAccess returns the delegation to the API server that config reaches. It
// makes no request.
func newAccess(config *rest.Config, serializer runtime.NegotiatedSerializer, clk clock.PassiveClock, log logr.Logger) (*access, error) {
	config = rest.CopyConfig(config)
	config.RateLimiter = nil
	// One review for each namespace and metric in a burst, instead of the client's default
	// of 5 a second.
	config.QPS, config.Burst = 50, 100
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("building the client for delegated authentication: %w", err)
	}
	core, err := typedcorev1.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, fmt.Errorf("building the client for %s: %w", trustConfigMap, err)
	}
	// Any pod of the cluster may send an invalid token. Autoscalers come through the API
	// server's proxy, with a certificate: they do not wait for such reviews.
	limited := rest.CopyConfig(config)
	limited.QPS, limited.Burst = tokenReviewRate, tokenReviewBurst
	tokens, err := typedauthenticationv1.NewForConfigAndClient(limited, client)
	if err != nil {
		return nil, fmt.Errorf("building the client for token reviews: %w", err)
	}
	reviews, err := typedauthorizationv1.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, fmt.Errorf("building the client for access reviews: %w", err)
	}

	t := newTrust(core, log)
	// Half a second, growing by half, five times: like the API server's own webhooks.
	// Anonymous stays nil: every user needs a name.
	backoff := wait.Backoff{Duration: 500 * time.Millisecond, Factor: 1.5, Jitter: 0.2, Steps: 5}
	headers := t.requestHeaders()
	authenticator, _, err := authenticatorfactory.DelegatingAuthenticatorConfig{
		TokenAccessReviewClient:            tokens,
		TokenAccessReviewTimeout:           reviewTimeout,
		WebhookRetryBackoff:                &backoff,
		CacheTTL:                           tokenTTL,
		ClientCertificateCAContentProvider: &t.users,
		RequestHeaderConfig:                headers,
	}.New()
	if err != nil {
		return nil, fmt.Errorf("building the authenticator: %w", err)
	}
	authorizer, err := authorizerfactory.DelegatingAuthorizerConfig{
		SubjectAccessReviewClient: reviews,
		AllowCacheTTL:             allowTTL,
		DenyCacheTTL:              denyTTL,
		WebhookRetryBackoff:       &backoff,
	}.New()
	if err != nil {
		return nil, fmt.Errorf("building the authorizer: %w", err)
	}
	refused := throttle.NewRefusals(clk, refusedAtOnce, refusedEvery)
	return &access{trust: t, wrap: func(h http.Handler) http.Handler {
		h = filters.WithAuthorization(h, authorizer, serializer)
		h = filters.WithAuthentication(h, authenticator, filters.Unauthorized(serializer), nil, headers)
		return throttle.Refuse(h, refused, t.hasTrustedCertificate)
	}}, nil
}
