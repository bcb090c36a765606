//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/test/testbed"
)

// The objectives of every class here, in ms. On the slow accelerator a request alone
// has an ITL of 36 ms, and six together have one of 40: a replica serves 0.62
// requests/s so.
const wantedTTFT, wantedITL = 500, 40

// TestObjectivesAreHeldByTheCheaperMix has a model on two kinds of accelerators,
// and more and more requests. Of the dear one there is a replica, the minimum, which
// carries the greater part of the load. What is left would take one more of it, at
// 40, or a few of the cheap one, at 8 each.
func TestObjectivesAreHeldByTheCheaperMix(t *testing.T) {
	t.Parallel()
	const ns, model = "objectives", "meta/mixed"
	configure(t, ns, "saturation-scaling-config", map[string]string{"default": "engine: queueing"})
	configure(t, ns, "service-classes-config", map[string]string{"premium": class("Premium", 1, model)})
	cheap, dear := slow(ns, "cheap"), fast(ns, "dear")
	cheap.ModelID, dear.ModelID = model, model
	deploy(t, cheap, dear)
	for _, v := range []string{"cheap", "dear"} {
		condition(t, time.Minute, ns, v, "Ready", "True", "Ready")
	}

	load(t, ns, model, "ramp(3->6.2,60s),gamma(6.2,600s,cv=0.05)", "--lengths", "constant", "--seed", "1")
	begun := time.Now()
	const few = 15 * time.Second // in which too few are served for a mean that says something
	var worst latency
	held := func(ctx context.Context) string {
		now, err := latencyOf(ctx, ns)
		if err != nil {
			return err.Error()
		}
		if time.Since(begun) < few {
			return ""
		}
		worst.note(now)
		if now.ttft > wantedTTFT || now.itl > wantedITL {
			return fmt.Sprintf("after %s 90 %% of the requests have a TTFT of %.0f ms, and the ITL is %.1f ms; the objectives are %d and %d ms",
				time.Since(begun).Round(time.Second), now.ttft, now.itl, wantedTTFT, wantedITL)
		}
		d, err := deployment(ctx, ns, "dear")
		if err != nil {
			return err.Error()
		}
		if *d.Spec.Replicas != 1 {
			return fmt.Sprintf("there are %d replicas of the dear variant, want one", *d.Spec.Replicas)
		}
		return ""
	}
	eventually(t, 3*time.Minute, func(ctx context.Context) string {
		if wrong := held(ctx); wrong != "" {
			t.Fatal(wrong)
		}
		d, err := deployment(ctx, ns, "cheap")
		if err != nil {
			return err.Error()
		}
		if d.Status.ReadyReplicas < 3 {
			return fmt.Sprintf("%d replicas of the cheap variant are Ready, want 3", d.Status.ReadyReplicas)
		}
		return ""
	})
	grown := time.Since(begun)
	consistently(t, 30*time.Second, held)
	var cost float64
	for _, name := range []string{"cheap", "dear"} {
		e, err := explained(t.Context(), shared.manager, ns, name)
		if err != nil {
			t.Fatal(err)
		}
		cost += float64(e.Decision.Target()) * e.Variant.Cost
	}
	t.Logf("the third replica of the cheap variant serves after %s; the mix costs %g; at the worst 90 %% had a TTFT of %.0f ms, and the ITL was %.1f ms",
		grown.Round(time.Second), cost, worst.ttft, worst.itl)
	// Two of the dear variant and one of the cheap.
	if other := 2*40 + 8.0; cost >= other {
		t.Errorf("the mix costs %g, and there is one for %g", cost, other)
	}
	if worst.ttft == 0 || worst.itl == 0 {
		t.Errorf("latencies were never measured: %+v", worst)
	}

	// Who wants to know which target it is finds the same in three places.
	for name, bound := range map[string]string{
		"cheap": "ITL of 40 ms at the mean limits the rate",
		"dear":  "TTFT of 500 ms at percentile 0.9 limits the rate",
	} {
		if text := explanationOf(t, ns, name); !strings.Contains(text, bound) {
			t.Errorf("wva explain %s does not say %q:\n%s", name, bound, text)
		}
		if message := condition(t, time.Minute, ns, name, "OptimizationReady", "True", "OptimizationSucceeded"); !strings.Contains(message, bound) {
			t.Errorf("status of %s says %q, and not %q", name, message, bound)
		}
	}
	eventually(t, 30*time.Second, func(ctx context.Context) string {
		return noEvent(ctx, ns, "cheap", "ScaledUp", "ITL of 40 ms at the mean limits the rate")
	})
}

// TestAProfileThatIsWrongIsNamedWithBothNumbers: the owner of a variant promises
// tokens three times as fast as they come, and its neighbour says what is true.
func TestAProfileThatIsWrongIsNamedWithBothNumbers(t *testing.T) {
	t.Parallel()
	const ns = "promises"
	configure(t, ns, "saturation-scaling-config", map[string]string{"default": "engine: queueing"})
	configure(t, ns, "service-classes-config", map[string]string{"premium": class("Premium", 1, "default/default")})
	liar, honest := fast(ns, "liar"), fast(ns, "honest")
	liar.ModelID, honest.ModelID = "meta/liar", "meta/honest"
	liar.Speed = speed("6", "0.41", "22", "0.0075", 48)
	deploy(t, liar, honest)
	load(t, ns, liar.ModelID, "gamma(1,600s,cv=0.05)", "--lengths", "constant")
	load(t, ns, honest.ModelID, "gamma(1,600s,cv=0.05)", "--lengths", "constant")

	// At one request/s three or four are under way, so that a token takes 18 + 1.5 ms,
	// and 6 + 0.8 are promised.
	message := condition(t, 3*time.Minute, ns, "liar", "ConfigurationValid", "False", "ProfileContradicted")
	var predicted, measured float64
	_, numbers, _ := strings.Cut(message, "When it was first seen, ITL ")
	t.Log(message)
	if _, err := fmt.Sscanf(numbers, "%g ms predicted and %g ms measured", &predicted, &measured); err != nil {
		t.Fatalf("message %q does not give both numbers: %v", message, err)
	}
	if math.Abs(predicted-7) > 1.5 || math.Abs(measured-19.5) > 2 {
		t.Errorf("an ITL of %g ms is said to be predicted and one of %g to be measured, want about 7 and 19.5", predicted, measured)
	}
	eventually(t, 30*time.Second, func(ctx context.Context) string {
		return noEvent(ctx, ns, "liar", "InvalidConfiguration", "ITL")
	})
	if text := explanationOf(t, ns, "liar"); !strings.Contains(text, "contradicted: ITL") {
		t.Errorf("wva explain does not say that the ITL is contradicted:\n%s", text)
	}
	eventually(t, 2*time.Minute, func(ctx context.Context) string {
		e, err := explained(ctx, shared.manager, ns, "honest")
		if err != nil {
			return err.Error()
		}
		if !e.Sizing.Compared {
			return "the profile that is right has not been compared with what is measured"
		}
		return ""
	})
	condition(t, 10*time.Second, ns, "honest", "ConfigurationValid", "True", "ConfigurationAccepted")
}

// TestAModelWithoutAClassIsDecidedBySaturation, which is named, until there is one.
func TestAModelWithoutAClassIsDecidedBySaturation(t *testing.T) {
	t.Parallel()
	const ns = "classless"
	configure(t, ns, "saturation-scaling-config", map[string]string{"default": "engine: queueing"})
	v := fast(ns, "unserved")
	v.ModelID = "meta/unserved"
	deploy(t, v)
	load(t, ns, v.ModelID, "gamma(1,600s,cv=0.05)", "--lengths", "constant")
	message := condition(t, time.Minute, ns, v.Name, "ConfigurationValid", "False", "ServiceClassMissing")
	if !strings.Contains(message, v.ModelID) {
		t.Errorf("message %q does not name the model", message)
	}
	condition(t, time.Minute, ns, v.Name, "OptimizationReady", "True", "OptimizationSucceeded")
	// Until its first replica is Ready, what waits decides.
	eventually(t, time.Minute, func(ctx context.Context) string {
		const says = "queueing has no vote, saturation decides (ServiceClassMissing"
		e, err := explained(ctx, shared.manager, ns, v.Name)
		if err != nil {
			return err.Error()
		}
		if !slices.ContainsFunc(e.Decision.Steps, func(s scaling.Step) bool { return strings.Contains(s.Detail, says) }) {
			return fmt.Sprintf("no step says %q: %+v", says, e.Decision.Steps)
		}
		return decidedBy(ctx, ns, v.Name, "saturation")
	})

	configure(t, ns, "service-classes-config", map[string]string{"premium": class("Premium", 1, v.ModelID)})
	condition(t, time.Minute, ns, v.Name, "ConfigurationValid", "True", "ConfigurationAccepted")
	eventually(t, time.Minute, func(ctx context.Context) string { return decidedBy(ctx, ns, v.Name, "queueing") })
}

// decidedBy says that another analyzer than wanted decides, or returns "".
func decidedBy(ctx context.Context, namespace, name, analyzer string) string {
	e, err := explained(ctx, shared.manager, namespace, name)
	if err != nil {
		return err.Error()
	}
	if e.Decision.Fallback || e.Analysis.Analyzer != analyzer {
		return fmt.Sprintf("%q decides (fallback: %t), want %q: %s", e.Analysis.Analyzer, e.Decision.Fallback, analyzer, e.Sizing.Detail)
	}
	return ""
}

// latency is what requests of a namespace met in the last half minute, in ms:
// 90 % of them this TTFT, and this ITL in the mean, as objectives are held by default.
type latency struct{ ttft, itl float64 }

// note keeps the worse of both. What is not known is no worse.
func (l *latency) note(now latency) {
	if now.ttft > l.ttft {
		l.ttft = now.ttft
	}
	if now.itl > l.itl {
		l.itl = now.itl
	}
}

// latencyOf reads the pods' own histograms. It is NaN while nothing was answered.
func latencyOf(ctx context.Context, namespace string) (l latency, err error) {
	of := func(metric string) string {
		return "rate(vllm:" + metric + `{namespace="` + namespace + `"}[30s])` // ten scrapes
	}
	if l.ttft, err = shared.bed.Query(ctx, "1000 * histogram_quantile(0.9, sum by (le) ("+of("time_to_first_token_seconds_bucket")+"))"); err != nil {
		return l, err
	}
	l.itl, err = shared.bed.Query(ctx, "1000 * sum("+of("inter_token_latency_seconds_sum")+") / sum("+of("inter_token_latency_seconds_count")+")")
	return l, err
}

// slow and fast are variants on a cheap accelerator and on one that costs five
// times as much. What they say of their speed is what one measures of the emulated
// replicas with prompts of 200 tokens: alone, and with a batch in which each prompt
// lengthens the steps of the others.
func slow(namespace, name string) testbed.Variant {
	v := chat(namespace, name)
	v.Profile, v.GPU, v.Accelerator, v.Cost = "llama-70b-a100", "NVIDIA-A100-PCIE-80GB", "A100", "8"
	v.Speed = speed("35", "0.83", "77", "0.013", 32)
	return v
}

func fast(namespace, name string) testbed.Variant {
	v := chat(namespace, name)
	v.Cost = "40"
	v.Speed = speed("18", "0.41", "22", "0.0075", 48)
	return v
}

// speed is a profile: ITL is alpha + beta x concurrency, prefill gamma + delta x
// tokens x concurrency, in ms.
func speed(alpha, beta, gamma, delta string, batch int32) *v1alpha1.VariantProfile {
	return &v1alpha1.VariantProfile{MaxBatchSize: &batch, PerfParms: &v1alpha1.PerfParms{
		DecodeParms: map[string]string{"alpha": alpha, "beta": beta}, PrefillParms: map[string]string{"gamma": gamma, "delta": delta},
	}}
}

// class is a service class for one model.
func class(name string, priority int, model string) string {
	return fmt.Sprintf("name: %s\npriority: %d\ndata:\n- {model: %s, slo-ttft: %d, slo-tpot: %d}\n", name, priority, model, wantedTTFT, wantedITL)
}

// configure sets a ConfigMap in a namespace of the test's own, for which alone it
// holds.
func configure(t *testing.T, namespace, name string, data map[string]string) {
	t.Helper()
	if err := shared.bed.Namespace(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	apply(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: data})
}

// explanationOf returns what wva explain prints of a variant. It always ends with what would change the
// decision, which wva decides of the cycle that the manager hands out.
func explanationOf(t *testing.T, namespace, name string) string {
	t.Helper()
	out, err := wva(t, nil, "explain", name, "-n", namespace, "--manager", shared.manager.URL, "--kubeconfig", shared.bed.State.Kubeconfig)
	if err != nil {
		t.Errorf("wva explain %s: %v", name, err)
	}
	for _, block := range []string{"\n  Why not fewer\n", "\n  What would change it\n"} {
		if !strings.Contains(out, block) {
			t.Errorf("wva explain %s has no block %q:\n%s", name, block, out)
		}
	}
	return out
}

// noEvent says that a variant has no event of a reason that says something, or
// returns "".
func noEvent(ctx context.Context, namespace, name, reason, says string) string {
	var events corev1.EventList
	if err := shared.bed.Client.List(ctx, &events, client.InNamespace(namespace)); err != nil {
		return err.Error()
	}
	var others []string
	for _, e := range events.Items {
		if e.InvolvedObject.Kind != "VariantAutoscaling" || e.InvolvedObject.Name != name {
			continue
		}
		if e.Reason == reason && strings.Contains(e.Message, says) {
			return ""
		}
		others = append(others, e.Reason+": "+e.Message)
	}
	return fmt.Sprintf("there is no event %s of %s that says %q, only %q", reason, name, says, others)
}
