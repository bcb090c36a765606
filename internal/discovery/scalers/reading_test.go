package scalers

import (
	"strings"
	"testing"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

var seriesA = seriesOf(scaling.Variant{
	Key: scaling.VariantKey{Namespace: "ns", Name: "a"}, Target: scaling.TargetRef{Kind: "Deployment", Name: "d"}, Accelerator: "L4",
})

func TestWhatAnHPAReads(t *testing.T) {
	type selector = map[string]string
	const replicas, ratio = "wva_desired_replicas", "wva_desired_ratio"
	metrics := func(m ...autoscalingv2.MetricSpec) []autoscalingv2.MetricSpec { return m }
	valued := func(m autoscalingv2.MetricSpec, value, average string) autoscalingv2.MetricSpec {
		m.External.Target = autoscalingv2.MetricTarget{}
		for text, into := range map[string]**resource.Quantity{value: &m.External.Target.Value, average: &m.External.Target.AverageValue} {
			if text != "" {
				q := resource.MustParse(text)
				*into = &q
			}
		}
		return m
	}
	expressed := func(key string, op metav1.LabelSelectorOperator, values ...string) autoscalingv2.MetricSpec {
		m := reading(replicas, nil)
		m.External.Metric.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: key, Operator: op, Values: values}}
		return m
	}
	anything := reading(replicas, nil)
	anything.External.Metric.Selector = nil
	cpu := autoscalingv2.MetricSpec{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{Name: "cpu"}}
	tests := map[string]struct {
		metrics []autoscalingv2.MetricSpec
		values  []string // names of the metrics that it has values of
		want    string   // part of what is wrong, "" for nothing
	}{
		"by target and kind":               {metrics(reading(replicas, selector{"target_name": "d", "target_kind": "Deployment"})), nil, ""},
		"by variant and namespace":         {metrics(reading(replicas, selector{"variant_name": "a", "exported_namespace": "ns"})), nil, ""},
		"by instance too":                  {metrics(reading(replicas, selector{"variant_name": "a", "controller_instance": "x"})), nil, ""},
		"by what a scrape adds":            {metrics(reading(replicas, selector{"variant_name": "a", "namespace": "monitoring", "job": "wva"})), nil, ""},
		"by its older name":                {metrics(reading("inferno_desired_replicas", selector{"variant_name": "a"})), nil, ""},
		"everything":                       {metrics(anything), nil, ""},
		"one of several":                   {metrics(expressed("variant_name", metav1.LabelSelectorOpIn, "a", "b")), nil, ""},
		"all but another":                  {metrics(expressed("variant_name", metav1.LabelSelectorOpNotIn, "b")), nil, ""},
		"all but this":                     {metrics(expressed("variant_name", metav1.LabelSelectorOpNotIn, "a")), nil, "(variant_name notin (a)) does not match"},
		"an invalid selector":              {metrics(expressed("variant_name", "Nonsense")), nil, ""},
		"another variant":                  {metrics(reading(replicas, selector{"variant_name": "b"})), nil, "the selector of its metric wva_desired_replicas (variant_name=b) does not match this variant"},
		"another namespace":                {metrics(reading(replicas, selector{"variant_name": "a", "exported_namespace": "other"})), nil, "does not match"},
		"another metric":                   {metrics(reading("queue_length", nil)), nil, "none of its metrics is wva_desired_replicas or wva_desired_ratio"},
		"no external metric":               {metrics(cpu), nil, "none of its metrics"},
		"another variant, and this":        {metrics(reading(replicas, selector{"variant_name": "b"}), reading(replicas, selector{"variant_name": "a"})), nil, ""},
		"replicas as a value":              {metrics(valued(reading(replicas, nil), "1", "")), nil, ""},
		"replicas as a value of 2":         {metrics(valued(reading(replicas, nil), "2", "")), nil, "its target for wva_desired_replicas is not averageValue 1"},
		"replicas as both":                 {metrics(valued(reading(replicas, nil), "1", ""), reading(replicas, nil)), nil, "by the target type Value, which an HPA multiplies by its ready pods: 3 wanted of 1 become 3, then 9, and as an average, too"},
		"replicas as an average of 2":      {metrics(valued(reading(replicas, nil), "", "2")), nil, "not averageValue 1"},
		"replicas as an average of 1000m":  {metrics(valued(reading(replicas, nil), "", "1000m")), nil, ""},
		"the ratio as a value":             {metrics(valued(reading(ratio, nil), "1", "")), nil, ""},
		"the ratio as an average":          {metrics(reading(ratio, nil)), nil, "its target for wva_desired_ratio is not value 1"},
		"and CPU":                          {metrics(reading(replicas, nil), cpu), nil, ""},
		"and CPU, both with a value":       {metrics(reading(replicas, nil), cpu), []string{replicas, ""}, ""},
		"and CPU, which alone has a value": {metrics(reading(replicas, nil), cpu), []string{""}, "has no value of wva_desired_replicas, only of other metrics"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			h := follower()
			h.Spec.Metrics = tt.metrics
			for _, name := range tt.values {
				m := autoscalingv2.MetricStatus{Type: autoscalingv2.ResourceMetricSourceType}
				if name != "" {
					m = autoscalingv2.MetricStatus{Type: autoscalingv2.ExternalMetricSourceType, External: &autoscalingv2.ExternalMetricStatus{Metric: autoscalingv2.MetricIdentifier{Name: name}}}
				}
				h.Status.CurrentMetrics = append(h.Status.CurrentMetrics, m, autoscalingv2.MetricStatus{})
			}
			h = Strip(h)
			got, multiplies := misreads(h, seriesA)
			if multiplies != (name == "replicas as a value" || name == "replicas as both") {
				t.Errorf("multiplies: %t", multiplies)
			}
			if passing := unread(h); got == "" {
				got = passing.Message
			} else if passing.Reason != "" {
				t.Errorf("misreads %q, and besides %+v", got, passing)
			}
			if !strings.Contains(got, tt.want) || (got == "") != (tt.want == "") {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestWhatAScaledObjectReads(t *testing.T) {
	const none = "none of its triggers reads wva_desired_replicas or wva_desired_ratio"
	tests := map[string]struct {
		metadata map[string]any
		want     string
	}{
		"this variant":    {map[string]any{"query": `wva_desired_replicas{variant_name="a"}`, "threshold": "1"}, ""},
		"this target":     {map[string]any{"query": `max(wva_desired_replicas{target_name="d"})`, "threshold": "1.0"}, ""},
		"no threshold":    {map[string]any{"query": `wva_desired_ratio`}, ""},
		"another variant": {map[string]any{"query": `wva_desired_replicas{variant_name="a-2"}`, "threshold": "1"}, "the query of its trigger on wva_desired_replicas asks for another variant"},
		"one of several":  {map[string]any{"query": `wva_desired_replicas{variant_name=~"b|a"}`, "threshold": "1"}, ""},
		"another number":  {map[string]any{"query": `wva_desired_replicas{variant_name="a"}`, "threshold": "5"}, "the threshold of its trigger on wva_desired_replicas is 5, and must be 1"},
		"no number":       {map[string]any{"query": `wva_desired_replicas{variant_name="a"}`, "threshold": "x"}, "the threshold of its trigger on wva_desired_replicas is x, and must be 1"},
		"another metric":  {map[string]any{"query": `queue_length`, "threshold": "5"}, none},
		"nothing":         {nil, none},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s, err := readScaledObject(keda(func(spec map[string]any) {
				spec["triggers"] = []any{map[string]any{"type": "prometheus", "metadata": tt.metadata}}
			}))
			if err != nil {
				t.Fatal(err)
			}
			if got := s.misreads(seriesA); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestWhoMultipliesIsAnsweredByItsReadyPodsWhereItReadsAlone(t *testing.T) {
	replicas := func() autoscalingv2.MetricSpec { return reading("wva_desired_replicas", nil) }
	multiplies := follower(func(h *autoscalingv2.HorizontalPodAutoscaler) {
		h.Spec.Metrics = []autoscalingv2.MetricSpec{byValue(replicas())}
	})
	other := follower(func(h *autoscalingv2.HorizontalPodAutoscaler) { h.Name = "other" })
	both := follower(func(h *autoscalingv2.HorizontalPodAutoscaler) {
		h.Spec.Metrics = []autoscalingv2.MetricSpec{byValue(replicas()), replicas()}
	})
	tests := map[string]struct {
		serves   bool
		objects  []client.Object
		answered bool
		says     string // of h, "" where it learns the decision
	}{
		"alone, by our API":                       {true, []client.Object{multiplies}, true, ""},
		"alone, by another server":                {false, []client.Object{multiplies}, false, "or serve it by the manager"},
		"beside one that reads an average":        {true, []client.Object{multiplies, other}, false, "another scaler of the target does"},
		"beside a ScaledObject":                   {true, []client.Object{multiplies, keda()}, false, "another scaler of the target does"},
		"itself reads an average, too":            {true, []client.Object{both}, false, "and as an average, too"},
		"itself reads both, beside another":       {true, []client.Object{both, other}, false, "and as an average, too"},
		"beside one that reads something else":    {true, []client.Object{multiplies, follower(of("queue_length"))}, true, ""},
		"one of another target reads an average":  {true, []client.Object{multiplies, follower(named("i"), elsewhere)}, false, "HorizontalPodAutoscaler i, which scales another target"},
		"of two that multiply both are answered":  {true, []client.Object{multiplies, follower(named("i"), valuedOnly)}, true, ""},
		"one that reads an average is no problem": {true, []client.Object{follower()}, false, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := New(&fakeWatches{objects: tt.objects}, clocktesting.NewFakePassiveClock(at(0)))
			r.ServesMetrics = tt.serves
			got := r.Of(t.Context(), variantA)[variantA[0].Key]
			if got.ByValue != tt.answered {
				t.Errorf("by value: %t", got.ByValue)
			}
			for _, s := range got.List {
				if s.Name == "h" && (!strings.Contains(s.Misread, tt.says) || (s.Misread == "") != (tt.says == "")) {
					t.Errorf("it says %q, want %q", s.Misread, tt.says)
				}
			}
		})
	}
}

// byValue has a metric read by the target type Value 1.
func byValue(m autoscalingv2.MetricSpec) autoscalingv2.MetricSpec {
	m.External.Target = autoscalingv2.MetricTarget{Type: autoscalingv2.ValueMetricType, Value: resource.NewQuantity(1, resource.DecimalSI)}
	return m
}

// of has an HPA read another metric, under the name q.
func of(metric string) func(*autoscalingv2.HorizontalPodAutoscaler) {
	return func(h *autoscalingv2.HorizontalPodAutoscaler) {
		h.Name, h.Spec.Metrics = "q", []autoscalingv2.MetricSpec{reading(metric, nil)}
	}
}

func named(name string) func(*autoscalingv2.HorizontalPodAutoscaler) {
	return func(h *autoscalingv2.HorizontalPodAutoscaler) { h.Name = name }
}

// elsewhere has an HPA scale another target by the decision on variant a.
func elsewhere(h *autoscalingv2.HorizontalPodAutoscaler) { h.Spec.ScaleTargetRef.Name = "b" }

// valuedOnly has an HPA multiply what it reads.
func valuedOnly(h *autoscalingv2.HorizontalPodAutoscaler) {
	h.Spec.Metrics = []autoscalingv2.MetricSpec{byValue(reading("wva_desired_replicas", nil))}
}
