package access

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/apiserver/pkg/endpoints/request"
	authenticationv1 "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationv1 "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/throttle"
)

// How long the answers of the API server are kept; for rights, 8192 of them at most. A right that
// was taken away is gone after allowTTL.
const (
	tokenTTL = time.Minute
	allowTTL = time.Minute
	denyTTL  = 10 * time.Second
)

// reviewTimeout limits one review.
const reviewTimeout = 10 * time.Second

// The manager sends reviews of each kind at most at this rate, for all callers of the port
// together.
const (
	reviewRate  = 20 // a second
	reviewBurst = 40
)

// A caller may be refused refusedAtOnce times at once, and once more every refusedEvery.
const (
	refusedAtOnce = 20
	refusedEvery  = time.Second
)

// Access asks an API server who may read. It is safe for concurrent use.
type Access struct {
	authenticator authenticator.Request
	authorizer    authorizer.Authorizer
	addresses     *throttle.Refusals // of callers without known credentials
	users         *throttle.Refusals // of known callers without the right
	log           logr.Logger
}

// New returns an Access that asks the API server that config and client reach. It makes no request.
func New(config *rest.Config, client *http.Client, clk clock.PassiveClock, log logr.Logger) (*Access, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst, config.RateLimiter = reviewRate, reviewBurst, nil
	tokens, err := authenticationv1.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, fmt.Errorf("building the client for token reviews: %w", err)
	}
	reviews, err := authorizationv1.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, fmt.Errorf("building the client for access reviews: %w", err)
	}
	// The back-off of the API server's own webhooks.
	backoff := wait.Backoff{Duration: 500 * time.Millisecond, Factor: 1.5, Jitter: 0.2, Steps: 5}
	who, _, err := authenticatorfactory.DelegatingAuthenticatorConfig{
		Anonymous:               &apiserver.AnonymousAuthConfig{Enabled: false},
		CacheTTL:                tokenTTL,
		TokenAccessReviewClient: tokens, TokenAccessReviewTimeout: reviewTimeout,
		WebhookRetryBackoff: &backoff,
	}.New()
	if err != nil {
		return nil, fmt.Errorf("building the authenticator: %w", err)
	}
	may, err := authorizerfactory.DelegatingAuthorizerConfig{
		SubjectAccessReviewClient: reviews, AllowCacheTTL: allowTTL, DenyCacheTTL: denyTTL, WebhookRetryBackoff: &backoff,
	}.New()
	if err != nil {
		return nil, fmt.Errorf("building the authorizer: %w", err)
	}
	return &Access{
		authenticator: who, authorizer: may, log: log,
		addresses: throttle.NewRefusals(clk, refusedAtOnce, refusedEvery),
		users:     throttle.NewRefusals(clk, refusedAtOnce, refusedEvery),
	}, nil
}

// Known passes a request to next if the API server knows its credentials. next checks the rights of
// the caller, by URL or by MayRead.
func (a *Access) Known(next http.Handler) http.Handler {
	known := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		found, ok, err := a.authenticator.AuthenticateRequest(r)
		switch {
		case unanswered(err):
			a.log.Error(err, "a caller of the metrics port could not be authenticated")
			http.Error(w, "the API server did not say whose the credentials are: the log of the manager names the cause", http.StatusInternalServerError)
		case !ok:
			http.Error(w, "Unauthorized: want a bearer token that the API server knows", http.StatusUnauthorized)
		default:
			next.ServeHTTP(w, r.WithContext(request.WithUser(r.Context(), found.User)))
		}
	})
	return throttle.Refuse(known, a.addresses, nil)
}

// unanswered reports whether an error means that the API server gave no answer, rather than a
// refusal.
func unanswered(err error) bool {
	if err == nil {
		return false
	}
	if many, ok := errors.AsType[utilerrors.Aggregate](err); ok {
		return slices.ContainsFunc(many.Errors(), unanswered)
	}
	var status apierrors.APIStatus
	var timeout interface{ Timeout() bool } // of the network or of a context
	return errors.As(err, &status) || errors.As(err, &timeout) || errors.Is(err, context.Canceled)
}

// URL passes a request to next if its caller, who is Known, may use its verb on its URL.
func (a *Access) URL(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		verb := strings.ToLower(r.Method)
		refusal := a.may(r, authorizer.AttributesRecord{Verb: verb, Path: r.URL.Path}, fmt.Sprintf("%s of the non-resource URL %s", verb, r.URL.Path))
		if refusal != nil {
			refusal.answer(w)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// MayRead returns 0 where the caller of r, who is Known, may read the VariantAutoscalings of a
// namespace, "" for all namespaces. Otherwise it returns the status and the message of the answer.
func (a *Access) MayRead(r *http.Request, namespace string) (status int, message string) {
	where := "namespace " + namespace
	if namespace == "" {
		where = "the whole cluster (of one namespace: /NAMESPACE at the end of the path)"
	}
	group := v1alpha1.GroupVersion
	refusal := a.may(r, authorizer.AttributesRecord{
		Verb: "get", APIGroup: group.Group, APIVersion: group.Version, Resource: "variantautoscalings", Namespace: namespace, ResourceRequest: true,
	}, "get of variantautoscalings.llmd.ai in "+where)
	if refusal == nil {
		return 0, ""
	}
	return refusal.status, refusal.message
}

// refusal is the answer to a request that is refused.
type refusal struct {
	status  int
	message string
}

func (f *refusal) answer(w http.ResponseWriter) {
	if f.status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "1")
	}
	http.Error(w, f.message, f.status)
}

// may returns nil where the caller has a right, else the refusal. right names the right in
// messages.
func (a *Access) may(r *http.Request, what authorizer.AttributesRecord, right string) *refusal {
	user, ok := request.UserFrom(r.Context())
	if !ok {
		return &refusal{http.StatusUnauthorized, "Unauthorized: the caller has no name"}
	}
	if a.users.TooMany(user.GetName()) {
		return &refusal{http.StatusTooManyRequests, fmt.Sprintf("user %s was refused too often: try again in a second", user.GetName())}
	}
	what.User = user
	decision, _, err := a.authorizer.Authorize(r.Context(), what)
	switch {
	case decision == authorizer.DecisionAllow:
		return nil
	case err != nil:
		a.log.Error(err, "the rights of a caller of the metrics port could not be asked for", "user", user.GetName())
		return &refusal{http.StatusInternalServerError, fmt.Sprintf("the API server did not say whether user %s may %s: the log of the manager names the cause", user.GetName(), right)}
	}
	a.users.Add(user.GetName())
	return &refusal{http.StatusForbidden, fmt.Sprintf("user %s needs %s", user.GetName(), right)}
}
