package config

import (
	"strings"
	"testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

func TestANamespaceThatIsNotTrustedHasThePriorityThatItIsGiven(t *testing.T) {
	const classes, saturation, settings = "service-classes-config", "saturation-scaling-config", "variantautoscaling-config"
	apply := func(trust string) *Snapshot {
		store := newStore(t)
		store.Apply([]Source{
			system(settings, trustKey, trust, "WVA_LIMITED_MODE", "true"),
			system(classes,
				"premium", "name: Premium\npriority: 1\ndata:\n- {model: meta/llama, slo-tpot: 40, slo-ttft: 500}\n- {model: default/default, namespace: gold, slo-tpot: 40}",
				"standard", "name: Standard\npriority: 50\ndata:\n- {model: default/default, slo-tpot: 200, slo-ttft: 2000}"),
			system(saturation, "llama", "model_id: meta/llama\nenableLimiter: false"),
			in("evil", classes, "mine", "name: Mine\npriority: 1\ndata:\n- {model: own, slo-tpot: 10}"),
			in("evil", saturation, "default", "enableLimiter: false"),
			in("evil", settings, "WVA_LIMITED_MODE", "false"),
		})
		return store.Snapshot()
	}
	premium := []ClassRef{{classes, "premium"}}
	for _, tt := range []struct {
		name                                     string
		namespace, model                         string
		refs                                     []ClassRef
		trusted, granted                         int // priority
		limitedWhereTrusted, limitedWhereGranted bool
	}{
		{"its own class", "evil", "own", nil, 1, 50, false, true},
		{"the model ID of a class", "evil", "meta/llama", nil, 1, 50, false, true},
		{"a reference to a class", "evil", "meta/llama", premium, 1, 50, false, true},
		{"a model without a class of its own", "evil", "x", nil, 50, 50, false, true},
		{"a namespace that a class names", "gold", "x", nil, 1, 1, true, true},
		{"and a reference to it", "gold", "x", premium, 1, 1, true, true},
	} {
		for trust, want := range map[string]int{"true": tt.trusted, "false": tt.granted} {
			p := apply(trust).Policy(scaling.ModelKey{Namespace: tt.namespace, ID: tt.model}, tt.refs...)
			limited := map[string]bool{"true": tt.limitedWhereTrusted, "false": tt.limitedWhereGranted}[trust]
			if p.Objective.Priority != want || p.Limited != limited || p.Objective.ITL == 0 {
				t.Errorf("%s, trusted %s: priority %d, limited %t, ITL %g; want %d, %t, an ITL", tt.name, trust, p.Objective.Priority, p.Limited, p.Objective.ITL, want, limited)
			}
		}
	}
	if got := apply("true").Findings(); len(got) != 0 {
		t.Errorf("trusted: %s", lines(got))
	}
	got := lines(apply("false").Findings())
	for _, want := range []string{
		"ConfigMap evil/" + classes + ", mine, priority: is not taken from a namespace while WVA_TRUST_NAMESPACES is false: want it in the system namespace; in force: what the system namespace says",
		"ConfigMap evil/" + saturation + ", default, enableLimiter: is not taken",
		"ConfigMap evil/" + settings + ", WVA_LIMITED_MODE: is not taken",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("findings:\n%s\nwant %s", got, want)
		}
	}
}

func TestWhetherNamespacesAreTrustedIsNotTheirs(t *testing.T) {
	store := newStore(t)
	store.Apply([]Source{system("variantautoscaling-config", trustKey, "false"), in("evil", "variantautoscaling-config", trustKey, "true")})
	s := store.Snapshot()
	if s.trusts() {
		t.Error("a namespace made itself trusted")
	}
	if got := lines(s.Findings()); !strings.Contains(got, trustKey) {
		t.Errorf("it is not told: %s", got)
	}
}
