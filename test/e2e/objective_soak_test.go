//go:build e2e && soak

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/queueing"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/queueing/profile"
)

// TestAnObjectiveIsAllThatIsStated has a model without a class and without a profile, which tokens
// decide, and then one objective. Within ten minutes its replicas are sized to that, by
// what they showed, and wva profile says so.
func TestAnObjectiveIsAllThatIsStated(t *testing.T) {
	const ns, name, model = "objective", "stated", "meta/stated"
	v := chat(ns, name)
	v.ModelID, v.GPU, v.Accelerator = model, poolProduct, poolAccelerator
	deploy(t, v)
	hasReady(t, ns, name, 1)
	load(t, ns, model, "ramp(0.5->1.5,300s),constant(1.5,900s)")
	decidedBy := func(wait time.Duration, analyzer, source string) {
		t.Helper()
		eventually(t, wait, func(ctx context.Context) string {
			e, err := explained(ctx, shared.manager, ns, name)
			switch {
			case err != nil:
				return err.Error()
			case e.Analysis.Analyzer != analyzer:
				return fmt.Sprintf("%s decides (%s), want %s", e.Analysis.Analyzer, e.Analysis.Detail, analyzer)
			case len(e.Analysis.Variants) != 1 || !strings.Contains(e.Analysis.Variants[0].Source, source):
				return fmt.Sprintf("%s sizes %+v, want one variant %q", analyzer, e.Analysis.Variants, source)
			}
			return ""
		})
	}
	decidedBy(2*time.Minute, "tokens", "")
	configure(t, ns, "service-classes-config", map[string]string{"premium": class("Premium", 1, model)})
	decidedBy(10*time.Minute, queueing.Name, profile.Source)
	eventually(t, 3*time.Minute, func(ctx context.Context) string {
		now, err := latencyOf(ctx, ns)
		if err != nil {
			return err.Error()
		}
		if now.ttft > wantedTTFT || now.itl > wantedITL {
			return fmt.Sprintf(
				"90 %% of the requests have a TTFT of %.0f ms, and the ITL is %.1f ms; the objectives are %d and %d ms", now.ttft,
				now.itl, wantedTTFT, wantedITL,
			)
		}
		return ""
	})
	out, err := wva(t, nil, "profile", name, "-n", ns, "--kubeconfig", shared.bed.State.Kubeconfig, "--manager", shared.manager.URL)
	if err != nil || !strings.Contains(out, "learned from") {
		t.Errorf("wva profile: %v, want what was learned:\n%s", err, out)
	}
	t.Log(out)
}
