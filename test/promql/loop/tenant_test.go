package loop

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/prometheus/prometheus/model/labels"
)

// TestAPoisonedPageOfAnotherNamespaceChangesNothing: a tenant's pod serves a page that
// claims to be of our pods, with numbers that are none, and with names that are not
// closed. What is decided for us has the same bytes.
func TestAPoisonedPageOfAnotherNamespaceChangesNothing(t *testing.T) {
	forBothLoads(t, options{}, func(t *testing.T, l *loop, right scaling.Replicas) {
		honest := begin(t, options{Load: load{Usage: l.pods[0].Ranks[0].Usage, Waiting: l.pods[0].Ranks[0].Waiting}})
		l.poison = l.store.Target(labels.FromStrings("namespace", "tenant", "pod", "poisoned", "job", "engines", "instance", "poisoned:8000"))
		for range 4 {
			l.pass(cycles)
			honest.pass(cycles)
			got, want := l.decide(), honest.decide()
			got.want(t, "beside a poisoned page", right)
			if diff := cmp.Diff(got.decision, want.decision); diff != "" {
				t.Errorf("with a poisoned page of another namespace (-) and without (+):\n%s", diff)
			}
		}
	})
}

// poisoned is a page that claims to be of pods of another namespace.
func poisoned() []byte {
	var b strings.Builder
	for i := range replicas {
		claims := fmt.Sprintf(`{namespace=%q,pod="%s-%d",exported_namespace=%q,model_name=%q,engine="0"}`, namespace, variant, i, namespace, model)
		for series, value := range map[string]string{
			"vllm:kv_cache_usage_perc": "1e300", "vllm:num_requests_waiting": "NaN", "vllm:num_requests_running": "-Inf",
			"vllm:request_success_total": "1.7976931348623157e308", "vllm:generation_tokens_total": "-5",
		} {
			fmt.Fprintf(&b, "%s%s %s\n", series, claims, value)
		}
	}
	fmt.Fprintf(&b, "vllm:kv_cache_usage_perc{model_name=%q} 1\n", strings.Repeat("x", 60_000))
	return []byte(b.String())
}
