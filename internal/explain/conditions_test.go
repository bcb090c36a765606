package explain

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// variant returns an explanation of n/v, which serves m on A100.
func variant(change ...func(*Explanation)) Explanation {
	e := Explanation{Cycle: "7", Variant: scaling.Variant{
		Key: scaling.VariantKey{Namespace: "n", Name: "v"}, Model: scaling.ModelKey{Namespace: "n", ID: "m"},
		Target: scaling.TargetRef{APIVersion: "apps/v1", Kind: "Deployment", Name: "d"}, Accelerator: "A100",
	}}
	for _, f := range change {
		f(&e)
	}
	return e
}

func decided(to scaling.Replicas, reason scaling.Reason, detail string) func(*Explanation) {
	return func(e *Explanation) {
		e.Decision = scaling.Decision{Current: 2}.Then(scaling.StageOptimize, to, reason, detail)
	}
}

// sized adds what a queueing analysis says of the variant, while analyzer decided.
func sized(analyzer string) func(*Explanation) {
	return func(e *Explanation) {
		e.Analysis = scaling.Analysis{Analyzer: analyzer}
		e.Sizing = scaling.Analysis{Analyzer: "queueing", Variants: []scaling.Capacity{
			{Variant: scaling.VariantKey{Namespace: "n", Name: "other"}, PerReplica: 9, Source: "TTFT of 500 ms at percentile 0.9 limits the rate"},
			{Variant: e.Variant.Key, PerReplica: 4, Source: "ITL of 24 ms at the mean limits the rate"},
		}}
	}
}

func TestMessages(t *testing.T) {
	const lead, checks = "No vLLM metrics found for model 'm' in namespace 'n'. ", "Check: (1) ServiceMonitor exists in monitoring namespace, " +
		"(2) ServiceMonitor selector matches vLLM service labels, (3) vLLM pods are running and exposing /metrics endpoint, " +
		"(4) Prometheus is scraping the monitoring namespace"
	analyzed := func(e *Explanation) { e.AnalyzedAt = time.Date(2026, 1, 1, 13, 0, 0, 5, time.FixedZone("x", 3600)) }
	silent := scaling.ReplicaSample{Pod: "p", Ready: true}
	reports := scaling.ReplicaSample{Pod: "q", Ready: true, QueueLength: scaling.Reading{State: scaling.Fresh}}
	seen := func(names ...string) func(*Explanation) {
		return func(e *Explanation) {
			e.Snapshot.SeenModels, e.Snapshot.Replicas = names, []scaling.ReplicaSample{silent}
		}
	}
	elsewhere := func(e *Explanation) { e.Snapshot.SeenElsewhere = true }
	replicas := func(r ...scaling.ReplicaSample) func(*Explanation) {
		return func(e *Explanation) { e.Snapshot.Replicas = r }
	}
	many := make([]string, 12)
	for i := range many {
		many[i] = fmt.Sprintf("m%02d", i)
	}
	unjoined := func(text string) func(*Explanation) {
		return func(e *Explanation) { e.Snapshot.Unjoined = text }
	}
	mixed := func(e *Explanation) { e.Snapshot.Partial = "Scrape every pod" }
	stuckAs := func(pod string, how scaling.Stuckness) scaling.ReplicaSample {
		return scaling.ReplicaSample{Pod: pod, Variant: variant().Variant.Key, Ready: true, Stuck: how, Held: 3}
	}
	fault := func(text string) func(*Explanation) {
		return func(e *Explanation) { e.Snapshot.Fault = text }
	}
	named := func(id string) func(*Explanation) {
		return func(e *Explanation) { e.Variant.Model.ID = id }
	}
	missing := func(e *Explanation) { e.Variant.Missing = `Deployment "d" not found in namespace "n"` }
	noType := func(e *Explanation) { e.Variant.Accelerator = "" }
	tests := map[string]struct{ got, want string }{
		"target":               {TargetFound(variant()), "Scale target Deployment d found"},
		"no target":            {TargetNotFound(variant(missing)), `Deployment "d" not found in namespace "n"`},
		"no target, no reason": {TargetNotFound(variant()), "Scale target Deployment d not found"},
		"silent pods":          {MetricsMissing(variant(replicas(silent))), lead + checks + ", (5) the names of their metrics begin with one of PROMETHEUS_METRIC_PREFIXES, (6) no NetworkPolicy keeps Prometheus from the pods"},
		"no pods":              {MetricsMissing(variant()), lead + checks + ". No pod of the model is running"},
		"others report":        {MetricsMissing(variant(replicas(silent, reports))), lead + "Pods of other variants of the model do report. " + checks},
		"other models": {
			MetricsMissing(variant(seen("abc", "def"))),
			lead + "Metrics of other models do exist, with model_name 'abc', 'def': is one of them meant by modelID? " + checks,
		},
		"a model spelled alike": {
			MetricsMissing(variant(seen("abc", "M"))),
			lead + "Did you mean 'M'? Metrics of other models do exist, with model_name 'abc', 'M'. " + checks,
		},
		"the model elsewhere": {
			MetricsMissing(variant(named("org/m"), seen("o/org/m"), elsewhere)),
			"No vLLM metrics found for model 'org/m' in namespace 'n'. Metrics of other models do exist, with namespace/model_name 'o/org/m' (none in this namespace): is one of them meant by modelID? " + checks +
				", (5) the names of their metrics begin with one of PROMETHEUS_METRIC_PREFIXES, (6) no NetworkPolicy keeps Prometheus from the pods",
		},
		"many other models": {
			MetricsMissing(variant(seen(many...))),
			lead + "Metrics of other models do exist, with model_name 'm00', 'm01', 'm02', 'm03', 'm04', 'm05', 'm06', 'm07', 'm08', 'm09' and 2 more: is one of them meant by modelID? " + checks,
		},
		"series of no pod": {
			MetricsMissing(variant(seen("a"), unjoined("x{} exists but has no label pod"))),
			lead + "x{} exists but has no label pod. " + checks,
		},
		"series of several pods, which name none": {
			MetricsMissing(variant(seen("a"), unjoined("x{} exists but has no label pod"), mixed)),
			lead + "Scrape every pod. " + checks,
		},
		"series of several pods, which name this variant's": {
			MetricsAging(variant(mixed, replicas(scaling.ReplicaSample{Pod: "p", Variant: variant().Variant.Key, Partial: true}))),
			"vLLM metrics for model 'm' are not those of each replica alone: the model may still grow, shrinking waits. Scrape every pod",
		},
		"series of several pods, which name another variant's": {
			MetricsAging(variant(mixed, replicas(scaling.ReplicaSample{Pod: "p", Partial: true}))),
			"vLLM metrics for model 'm' are late: the model may still grow, shrinking waits. Scrape every pod",
		},
		"series of several pods beside those of each": {
			MetricsFound(variant(mixed)), "vLLM metrics are available and up-to-date. Scrape every pod",
		},
		"clocks that differ": {
			MetricsFound(variant(func(e *Explanation) { e.Snapshot.ClockLag = 10 * time.Minute })),
			"vLLM metrics are available and up-to-date. The clock of the source of metrics is more than a minute behind the manager's: correct the one that is wrong (NTP)",
		},
		"clocks that differ the other way": {
			MetricsFound(variant(func(e *Explanation) { e.Snapshot.ClockLag = -10 * time.Minute })),
			"vLLM metrics are available and up-to-date. The clock of the source of metrics is more than a minute ahead of the manager's: correct the one that is wrong (NTP)",
		},
		"stuck pods": {
			MetricsFound(variant(replicas(stuckAs("p", scaling.Frozen), stuckAs("q", scaling.Sick), stuckAs("r", scaling.Sick)))),
			"vLLM metrics are available and up-to-date. Requests wait and nothing moves in 'q', 'r': restart it. The gauges of 'p' are frozen and count as no load",
		},
		"stuck pods elsewhere": {
			MetricsFound(variant(replicas(scaling.ReplicaSample{Pod: "p", Stuck: scaling.Sick}))),
			"vLLM metrics are available and up-to-date",
		},
		"fault": {PrometheusError(variant(fault("boom"))), "Failed to query Prometheus: boom"},
		"fault of a connection": {
			PrometheusError(variant(fault("Post \"https://p\": read tcp 10.0.0.1:41234->10.0.0.2:9090: i/o timeout"))),
			"Failed to query Prometheus: Post \"https://p\": read tcp 10.0.0.2:9090: i/o timeout",
		},
		"fault over IPv6": {
			PrometheusError(variant(fault("write tcp6 [::1]:41234->[::1]:9090: broken pipe"))),
			"Failed to query Prometheus: write tcp [::1]:9090: broken pipe",
		},
		"long fault": {PrometheusError(variant(fault(strings.Repeat("ä", 400)))), "Failed to query Prometheus: " + strings.Repeat("ä", 300) + "…"},
		"optimized":  {Optimized(variant(decided(3, scaling.ReasonSaturated, ""))), "Optimization completed: 3 replicas on A100"},
		"optimized to objectives": {
			Optimized(variant(decided(3, scaling.ReasonDemand, ""), sized("queueing"))),
			"Optimization completed: 3 replicas on A100; of a replica, ITL of 24 ms at the mean limits the rate",
		},
		"sized in vain": {
			Optimized(variant(decided(3, scaling.ReasonSaturated, ""), sized("saturation"))),
			"Optimization completed: 3 replicas on A100",
		},
		"accelerator unknown": {
			Optimized(variant(noType, decided(3, scaling.ReasonSaturated, ""))),
			"Optimization completed: 3 replicas (accelerator unknown: set spec.accelerator)",
		},
		"fallback": {
			FellBack(variant(analyzed, decided(3, scaling.ReasonNoData, ""))),
			"No analysis since 2026-01-01T12:00:00Z: the larger of the last decision and what runs holds, within the bounds",
		},
		"fallback from the start": {
			FellBack(variant(decided(3, scaling.ReasonNoData, ""))),
			"No analysis so far: the larger of the last decision and what runs holds, within the bounds",
		},
		"first replica": {
			FellBack(variant(decided(1, scaling.ReasonFirstReplica, ""))),
			"No analysis so far: nothing runs, one replica of the cheapest variant starts",
		},
		"paused": {
			Paused(variant(decided(3, scaling.ReasonPaused, ""))),
			"Paused: the decision is frozen at 3 replicas, within the bounds. Remove the annotation wva.llmd.ai/paused to go on",
		},
		"target unreadable": {
			FellBack(variant(decided(3, scaling.ReasonTargetUnreadable, ""))),
			"No analysis so far: the target cannot be read, the last decision holds",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if tt.got != tt.want {
				t.Errorf("got  %q\nwant %q", tt.got, tt.want)
			}
		})
	}
}

func TestMetricsMessagesSpeakOfTheBackend(t *testing.T) {
	tests := []struct {
		backend                scaling.Backend
		missing, failed, stale string
	}{
		{"", "ServiceMonitor", "Failed to query Prometheus: boom", "ServiceMonitor"},
		{scaling.BackendPrometheus, "ServiceMonitor", "Failed to query Prometheus: boom", "ServiceMonitor"},
		{scaling.BackendPods, "prometheus.io/port", "Failed to read the metrics of the serving pods: boom", "serving pods"},
		{scaling.BackendEPP, "EPP_SELECTOR", "Failed to read the metrics of the endpoint pickers: boom", "endpoint pickers"},
	}
	for _, tt := range tests {
		e := variant(func(e *Explanation) { e.Snapshot.Backend, e.Snapshot.Fault = tt.backend, "boom" })
		if got := PrometheusError(e); got != tt.failed {
			t.Errorf("%s: got %q, want %q", tt.backend, got, tt.failed)
		}
		for got, want := range map[string]string{MetricsMissing(e): tt.missing, MetricsStale(e): tt.stale} {
			ofPrometheus := strings.Contains(got, "ServiceMonitor") || strings.Contains(got, "Prometheus is")
			if !strings.Contains(got, want) || ofPrometheus != (tt.missing == "ServiceMonitor") {
				t.Errorf("%s: got %q, want it to name %s", tt.backend, got, want)
			}
		}
	}
}

func TestFirstMetricsAreAwaitedForAWhile(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	early := func(change ...func(*Explanation)) Explanation {
		return variant(append([]func(*Explanation){decided(2, scaling.ReasonNoData, ""), func(e *Explanation) {
			e.At, e.Past.DecidedAt = now, now.Add(-time.Minute)
			e.Variant.Replicas = scaling.ReplicaCounts{Observed: true, Current: 2, Ready: 2, NewestReady: now.Add(-time.Hour)}
		}}, change...)...)
	}
	old := func(e *Explanation) { e.Past.DecidedAt = now.Add(-time.Hour) }
	tests := map[string]struct {
		e    Explanation
		want bool
	}{
		"a new variant":                  {early(), true},
		"one that has waited for long":   {early(old), false},
		"a new pod":                      {early(old, func(e *Explanation) { e.Variant.Replicas.NewestReady = now.Add(-time.Minute) }), true},
		"no pod is Ready":                {early(old, func(e *Explanation) { e.Variant.Replicas.Ready = 0 }), true},
		"nothing runs":                   {early(func(e *Explanation) { e.Variant.Replicas = scaling.ReplicaCounts{Observed: true} }), false},
		"it was analyzed before":         {early(func(e *Explanation) { e.AnalyzedAt = now.Add(-time.Second) }), false},
		"the source fails":               {early(func(e *Explanation) { e.Snapshot.Fault = "boom" }), false},
		"the target cannot be read":      {early(decided(2, scaling.ReasonTargetUnreadable, "")), false},
		"a first replica starts":         {early(decided(1, scaling.ReasonFirstReplica, "")), false},
		"a bound settled what is to run": {early(decided(3, scaling.ReasonBelowMin, "")), true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := FellBack(tt.e); AwaitsMetrics(tt.e) != tt.want || strings.Contains(got, "awaited") != tt.want {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestConflictMessagesNameTheOthers(t *testing.T) {
	key := func(name string) scaling.VariantKey { return scaling.VariantKey{Namespace: "n", Name: name} }
	c := Conflict{
		Target:     scaling.TargetRef{APIVersion: "apps/v1", Kind: "Deployment", Name: "d"},
		Contenders: []scaling.VariantKey{key("v"), key("w"), key("x")},
	}
	won := "This VA won arbitration (oldest) but 2 other VA(s) also target the same deployment: n/d. DELETE OR REASSIGN: w, x"
	lost := "SUPPRESSED: This VA targets deployment n/d which is already managed by v (older VA). No optimization/metrics for this VA. " +
		"ACTION: Delete this VA or change scaleTargetRef to a unique deployment."
	if got := c.Won(); got != won {
		t.Errorf("got  %q\nwant %q", got, won)
	}
	if got := c.Lost(); got != lost {
		t.Errorf("got  %q\nwant %q", got, lost)
	}
}

func TestOverdueMessagesDifferAndHoldNoNumbers(t *testing.T) {
	seen := map[string]bool{}
	for _, reason := range []scaling.Reason{scaling.ReasonTargetNotMoving, scaling.ReasonPodsUnschedulable, scaling.ReasonPodsNotReady} {
		message := NotFollowing(reason)
		if seen[message] || strings.ContainsAny(message, "0123456789") {
			t.Errorf("%s: %q", reason, message)
		}
		seen[message] = true
	}
}

func TestEventTexts(t *testing.T) {
	short := variant(decided(3, scaling.ReasonSaturated, "KV 0.05 below 0.10"))
	late := variant(decided(3, scaling.ReasonTargetNotMoving, "no HPA"), func(e *Explanation) {
		e.Decision = e.Decision.Then(scaling.StageBounds, 4, scaling.ReasonBelowMin, "minReplicas is 4")
		e.Variant.Replicas = scaling.ReplicaCounts{Observed: true, Current: 2, Ready: 1, Pending: 1, Unschedulable: 1}
	})
	tests := map[string]struct{ got, want string }{
		"decided":                            {Decided(late, 3), "from 3 to 4 replicas; the target asks for 2: BelowMin (minReplicas is 4); cycle 7"},
		"decided, the target cannot be read": {Decided(short, 1), "from 1 to 3 replicas: Saturated (KV 0.05 below 0.10); cycle 7"},
		"scaled":                             {Scaled(short, 2, 3), "from 2 to 3 replicas: Saturated (KV 0.05 below 0.10); cycle 7"},
		"scaled by half":                     {Scaled(short, 1, 2), "from 1 to 2 replicas; 3 decided: Saturated (KV 0.05 below 0.10); cycle 7"},
		"scaled for the decision before":     {ScaledBefore(short, 1, 2, 2, scaling.ReasonDemand), "from 1 to 2 replicas: Demand; cycle 7"},
		"scaled to an objective": {
			Scaled(variant(decided(3, scaling.ReasonDemand, "12 requests/s"), sized("queueing")), 2, 3),
			"from 2 to 3 replicas (of each, ITL of 24 ms at the mean limits the rate): Demand (12 requests/s); cycle 7",
		},
		"limited": {
			LimitedTo(short, scaling.Step{Reason: scaling.ReasonNoCandidate, Detail: "all at max"}),
			"limited to 3 replicas: NoCandidate (all at max); cycle 7",
		},
		"held": {Held(short), "held at 3 replicas: Saturated (KV 0.05 below 0.10); cycle 7"},
		"not followed": {
			NotFollowed(late, scaling.ReasonTargetNotMoving, NotFollowing(scaling.ReasonTargetNotMoving)),
			"4 replicas decided on; the target asks for 2, 1 of them Ready, 1 without a node: TargetNotMoving (no HPA); cycle 7",
		},
		"not followed, and a scaler is named": {
			NotFollowed(late, "HPALimited", "h keeps it at 2"),
			"4 replicas decided on; the target asks for 2, 1 of them Ready, 1 without a node: HPALimited (h keeps it at 2); cycle 7",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if tt.got != tt.want {
				t.Errorf("got  %q\nwant %q", tt.got, tt.want)
			}
		})
	}
	if got, want := Held(variant(decided(1, scaling.ReasonNoData, ""))), "held at 1 replica: NoData; cycle 7"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	long := Scaled(variant(decided(3, scaling.ReasonSaturated, strings.Repeat("ä", 2000))), 2, 3)
	if len(long) > noteAtMost || !strings.HasSuffix(long, "ä…; cycle 7") {
		t.Errorf("a note of %d bytes ends with %q", len(long), long[len(long)-20:])
	}
}
