//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/test/testbed"
)

// TestPrefillGrowsWithPromptsAndDecodeWithAnswers has two models in prefill and decode, of which one
// gets prompts that are ten times as long at the same rate, and the other such answers.
func TestPrefillGrowsWithPromptsAndDecodeWithAnswers(t *testing.T) {
	t.Parallel()
	const rate = "constant(6,%ds)"
	for _, m := range []struct {
		ns, model        string
		prompts, answers string // in tokens, of the load that follows 320 and 8
		grows, stays     string
	}{
		{"long-prompts", "meta/prompts", "3200", "8", "prefill", "decode"},
		{"long-answers", "meta/answers", "320", "80", "decode", "prefill"},
	} {
		t.Run(m.ns, func(t *testing.T) {
			t.Parallel()
			configure(t, m.ns, "saturation-scaling-config", map[string]string{"default": "engine: queueing"})
			configure(t, m.ns, "service-classes-config", map[string]string{
				"premium": fmt.Sprintf("name: Premium\npriority: 1\ndata:\n- {model: %s, slo-ttft: 500, slo-tpot: 20}\n", m.model),
			})
			deploy(t, roleOf(m.ns, m.model, "prefill"), roleOf(m.ns, m.model, "decode"))
			for _, name := range []string{"prefill", "decode"} {
				condition(t, time.Minute, m.ns, name, "Ready", "True", "Ready")
			}
			defer func() {
				if t.Failed() {
					t.Log(explanationOf(t, m.ns, m.grows), explanationOf(t, m.ns, m.stays))
				}
			}()
			stays := func(ctx context.Context) {
				d, err := deployment(ctx, m.ns, m.stays)
				if err == nil && *d.Spec.Replicas != 1 {
					t.Fatalf("%s has %d replicas, want one", m.stays, *d.Spec.Replicas)
				}
			}
			load(t, m.ns, m.model, fmt.Sprintf(rate, 30), "--lengths", "constant", "--input-tokens", "320", "--output-tokens", "8")
			consistently(t, 30*time.Second, func(ctx context.Context) string {
				for _, name := range []string{"prefill", "decode"} {
					if d, err := deployment(ctx, m.ns, name); err == nil && *d.Spec.Replicas != 1 {
						return fmt.Sprintf("%s has %d replicas under the load of before, want one", name, *d.Spec.Replicas)
					}
				}
				return ""
			})
			load(t, m.ns, m.model, fmt.Sprintf(rate, 600), "--lengths", "constant", "--input-tokens", m.prompts, "--output-tokens", m.answers)
			eventually(t, 3*time.Minute, func(ctx context.Context) string {
				stays(ctx)
				d, err := deployment(ctx, m.ns, m.grows)
				if err != nil {
					return err.Error()
				}
				if d.Status.ReadyReplicas < 2 {
					return fmt.Sprintf("%d replicas of %s are Ready, want two", d.Status.ReadyReplicas, m.grows)
				}
				return ""
			})
			consistently(t, 20*time.Second, func(ctx context.Context) string { stays(ctx); return "" })
			if text := explanationOf(t, m.ns, m.grows); !strings.Contains(text, m.grows) {
				t.Errorf("wva explain does not speak of the role:\n%s", text)
			}
		})
	}
}

// roleOf is one role of a model, whose replicas have an ITL of 18.5 ms and take 30 ms for a prompt
// where requests are short.
func roleOf(namespace, model, role string) testbed.Variant {
	v := chat(namespace, role)
	v.ModelID, v.Role, v.GPU, v.Accelerator = model, role, poolProduct, poolAccelerator
	v.Speed = speed("18", "0.35", "12", "0.055", 48)
	return v
}
