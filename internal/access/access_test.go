package access

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/rest"
	testingclock "k8s.io/utils/clock/testing"
)

// apiServer answers reviews as an API server does: the token of a user is its name. anna
// may get the VariantAutoscalings of a, admin those of all, prometheus /metrics.
type apiServer struct {
	mu      sync.Mutex
	tokens  int      // token reviews
	reviews []string // access reviews
	down    bool
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	answer := func(v any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		if err := json.NewEncoder(w).Encode(v); err != nil {
			panic(err)
		}
	}
	switch {
	case s.down:
		http.Error(w, "out of order", http.StatusForbidden)
	case strings.HasSuffix(r.URL.Path, "/tokenreviews"):
		s.tokens++
		var review authenticationv1.TokenReview
		_ = json.NewDecoder(r.Body).Decode(&review)
		switch review.Spec.Token {
		case "anna", "admin", "prometheus":
			review.Status = authenticationv1.TokenReviewStatus{Authenticated: true, User: authenticationv1.UserInfo{Username: review.Spec.Token}}
		default:
			// What Kubernetes says of a token that it does not know.
			review.Status.Error = "[invalid bearer token, token lookup failed]"
		}
		answer(review)
	default:
		var review authorizationv1.SubjectAccessReview
		_ = json.NewDecoder(r.Body).Decode(&review)
		if what := review.Spec.ResourceAttributes; what != nil {
			s.reviews = append(s.reviews, fmt.Sprintf("%s %s %s.%s in %q", review.Spec.User, what.Verb, what.Resource, what.Group, what.Namespace))
			own := what.Group == "llmd.ai" && what.Resource == "variantautoscalings" && what.Verb == "get"
			review.Status.Allowed = own && (review.Spec.User == "admin" || review.Spec.User == "anna" && what.Namespace == "a")
		} else {
			url := review.Spec.NonResourceAttributes
			s.reviews = append(s.reviews, fmt.Sprintf("%s %s %s", review.Spec.User, url.Verb, url.Path))
			review.Status.Allowed = review.Spec.User == "prometheus" && url.Path == "/metrics" && url.Verb == "get"
		}
		answer(review)
	}
}

// port is a server with a page of an URL, and one of a namespace.
func port(t *testing.T, api *apiServer, clk *testingclock.FakePassiveClock) http.Handler {
	t.Helper()
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	a, err := New(&rest.Config{Host: server.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}, server.Client(), clk, logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	ok := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	mux := http.NewServeMux()
	mux.Handle("/metrics", a.URL(ok))
	page := func(w http.ResponseWriter, r *http.Request) {
		if status, message := a.MayRead(r, r.PathValue("namespace")); status != 0 {
			http.Error(w, message, status)
		}
	}
	mux.HandleFunc("/decisions", page)
	mux.HandleFunc("/decisions/{namespace}", page)
	return a.Known(mux)
}

func ask(h http.Handler, method, path, token string) (status int, body string) {
	r := httptest.NewRequest(method, path, http.NoBody)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code, strings.TrimSpace(w.Body.String())
}

func TestACallerReadsWhatItsRightsCover(t *testing.T) {
	h := port(t, &apiServer{}, testingclock.NewFakePassiveClock(time.Unix(1_000, 0)))
	for _, tt := range []struct {
		token, method, path string
		want                int
		body                string
	}{
		{"", "GET", "/metrics", 401, "Unauthorized: want a bearer token that the API server knows"},
		{"stranger", "GET", "/metrics", 401, "Unauthorized: want a bearer token that the API server knows"},
		{"prometheus", "GET", "/metrics", 200, ""},
		{"prometheus", "DELETE", "/metrics", 403, "user prometheus needs delete of the non-resource URL /metrics"},
		{
			"prometheus", "GET", "/decisions", 403,
			"user prometheus needs get of variantautoscalings.llmd.ai in the whole cluster (of one namespace: /NAMESPACE at the end of the path)",
		},
		{"anna", "GET", "/metrics", 403, "user anna needs get of the non-resource URL /metrics"},
		{"anna", "GET", "/decisions/a", 200, ""},
		{"anna", "GET", "/decisions/b", 403, "user anna needs get of variantautoscalings.llmd.ai in namespace b"},
		{
			"anna", "GET", "/decisions", 403,
			"user anna needs get of variantautoscalings.llmd.ai in the whole cluster (of one namespace: /NAMESPACE at the end of the path)",
		},
		{"admin", "GET", "/decisions", 200, ""},
		{"admin", "GET", "/decisions/b", 200, ""},
	} {
		if got, body := ask(h, tt.method, tt.path, tt.token); got != tt.want || body != tt.body {
			t.Errorf("%s %s by %q: %d %q, want %d %q", tt.method, tt.path, tt.token, got, body, tt.want, tt.body)
		}
	}
}

// TestOneReviewIsForManyRequests: answers are kept, so that a page that is asked for often
// does not cost the API server a review each time.
func TestOneReviewIsForManyRequests(t *testing.T) {
	api := &apiServer{}
	h := port(t, api, testingclock.NewFakePassiveClock(time.Unix(1_000, 0)))
	for range 50 {
		ask(h, "GET", "/decisions/a", "anna")
		ask(h, "GET", "/decisions", "admin")
	}
	want := []string{`anna get variantautoscalings.llmd.ai in "a"`, `admin get variantautoscalings.llmd.ai in ""`}
	if diff := cmp.Diff(want, api.reviews); diff != "" || api.tokens != 2 {
		t.Errorf("%d token reviews, want 2; access reviews (-want +got):\n%s", api.tokens, diff)
	}
}

// TestACallerThatIsRefusedOftenIsNotReviewed: by address as long as it has no name, by
// name where a namespace is asked for after the other.
func TestACallerThatIsRefusedOftenIsNotReviewed(t *testing.T) {
	for _, tt := range []struct {
		name    string
		token   func(i int) string
		refused int
	}{
		{"without a known token", func(i int) string { return fmt.Sprintf("guess-%d", i) }, http.StatusUnauthorized},
		{"without the right", func(int) string { return "anna" }, http.StatusForbidden},
	} {
		t.Run(tt.name, func(t *testing.T) {
			api, clk := &apiServer{}, testingclock.NewFakePassiveClock(time.Unix(1_000, 0))
			h := port(t, api, clk)
			got := map[int]int{}
			for i := range 100 {
				status, _ := ask(h, "GET", fmt.Sprintf("/decisions/n-%d", i), tt.token(i))
				got[status]++
			}
			if diff := cmp.Diff(map[int]int{tt.refused: refusedAtOnce, http.StatusTooManyRequests: 100 - refusedAtOnce}, got); diff != "" {
				t.Errorf("answers by status (-want +got):\n%s", diff)
			}
			if n := api.tokens + len(api.reviews); n > refusedAtOnce+1 {
				t.Errorf("the API server was asked %d times for 100 requests, want at most %d", n, refusedAtOnce+1)
			}
			clk.SetTime(clk.Now().Add(refusedEvery))
			if status, _ := ask(h, "GET", "/decisions/again", tt.token(100)); status != tt.refused {
				t.Errorf("a second later the answer is %d, want %d", status, tt.refused)
			}
		})
	}
}

// TestAnAPIServerThatDoesNotAnswerIsNoRefusal: it is not the caller's fault.
func TestAnAPIServerThatDoesNotAnswerIsNoRefusal(t *testing.T) {
	h := port(t, &apiServer{down: true}, testingclock.NewFakePassiveClock(time.Unix(1_000, 0)))
	for range refusedAtOnce + 1 {
		if status, body := ask(h, "GET", "/metrics", "prometheus"); status != http.StatusInternalServerError {
			t.Fatalf("%d %s, want 500", status, body)
		}
	}
}
