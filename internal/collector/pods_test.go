package collector_test

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/collectortest"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// row is a row of the only pod of the fleet, with labels changed or added.
func row(v float64, changes ...string) collector.Sample {
	labels := append(collectortest.PodLabels(collectortest.Namespace, "m000-0", "m000"), changes...)
	return collectortest.Row(v, labels...)
}

func TestSamplesJoinLivePods(t *testing.T) {
	for _, tc := range []struct {
		name string
		q    query.Quantity
		rows []collector.Sample
		want scaling.Reading
	}{
		{"label pod", query.QueueLengthPeak, []collector.Sample{row(3)}, fresh(3)},
		{"label pod_name where pod is missing", query.QueueLengthPeak, []collector.Sample{row(3, "pod", "", "pod_name", "m000-0")}, fresh(3)},
		{"label pod wins", query.QueueLengthPeak, []collector.Sample{row(3, "pod", "another", "pod_name", "m000-0")}, scaling.Reading{}},
		{"pod that does not live", query.QueueLengthPeak, []collector.Sample{row(3, "pod", "m000-9")}, scaling.Reading{}},
		{"pod of the same name elsewhere", query.QueueLengthPeak, []collector.Sample{row(3, "namespace", "other")}, scaling.Reading{}},
		{"another model", query.QueueLengthPeak, []collector.Sample{row(3, "model_name", "m001")}, scaling.Reading{}},
		{"no model", query.QueueLengthPeak, []collector.Sample{row(3, "model_name", "")}, scaling.Reading{}},
		{"duplicates fold", query.QueueLengthPeak, []collector.Sample{row(3), row(4, "pod", "", "pod_name", "m000-0"), row(2)}, fresh(4)},
		{"ranks of a queue add", query.QueueLengthPeak, []collector.Sample{row(3, "pod", "m000-0-rank-0"), row(4, "pod", "m000-0-rank-1")}, fresh(7)},
		{
			"ranks fold before they add", query.QueueLengthPeak,
			[]collector.Sample{row(3, "pod", "m000-0-rank-0"), row(4, "pod", "m000-0-rank-1"), row(5, "pod", "m000-0-rank-0")},
			fresh(9),
		},
		{
			"the whole and its ranks are duplicates", query.QueueLengthPeak,
			[]collector.Sample{row(8), row(3, "pod", "m000-0-rank-0"), row(4, "pod", "m000-0-rank-1")},
			fresh(8),
		},
		{
			"one unknown rank makes the sum unknown", query.QueueLengthPeak,
			[]collector.Sample{row(3, "pod", "m000-0-rank-0"), row(math.NaN(), "pod", "m000-0-rank-1")},
			scaling.Reading{},
		},
		{
			"the worst rank of the KV cache", query.KVCacheUsagePeak,
			[]collector.Sample{row(0.3, "pod", "m000-0-rank-0"), row(0.9, "pod", "m000-0-rank-1"), row(0.1, "pod", "m000-0-rank-2")},
			fresh(0.9),
		},
		{"a suffix that is no rank", query.QueueLengthPeak, []collector.Sample{row(3, "pod", "m000-0-rank-x")}, scaling.Reading{}},
		{"NaN", query.QueueLengthPeak, []collector.Sample{row(math.NaN())}, scaling.Reading{}},
		{"infinite", query.QueueLengthPeak, []collector.Sample{row(math.Inf(1))}, scaling.Reading{}},
		{"negative", query.QueueLengthPeak, []collector.Sample{row(-1)}, scaling.Reading{}},
		{"NaN beside a number", query.QueueLengthPeak, []collector.Sample{row(math.NaN()), row(2)}, fresh(2)},
		{"zero is a number", query.QueueLengthPeak, []collector.Sample{row(0)}, fresh(0)},
		{"no sample of a gauge", query.QueueLengthPeak, nil, scaling.Reading{}},
		{"capacity in tokens", query.KVCapacity, []collector.Sample{row(1, "kv_cache_size_tokens", "16000", "num_gpu_blocks", "10", "block_size", "16")}, fresh(16000)},
		{"capacity in blocks", query.KVCapacity, []collector.Sample{row(1, "kv_cache_size_tokens", "None", "num_gpu_blocks", "10", "block_size", "16")}, fresh(160)},
		{"capacity unknown", query.KVCapacity, []collector.Sample{row(1, "num_gpu_blocks", "None", "block_size", "16")}, scaling.Reading{}},
		{
			"capacity is not added over ranks", query.KVCapacity,
			[]collector.Sample{row(1, "pod", "m000-0-rank-0", "kv_cache_size_tokens", "9"), row(1, "pod", "m000-0-rank-1", "kv_cache_size_tokens", "9")},
			fresh(9),
		},
		{"capacity names no model", query.KVCapacity, []collector.Sample{row(1, "model_name", "", "kv_cache_size_tokens", "9")}, fresh(9)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			source, fleet := collectortest.New(), collectortest.Fleet(t0, 1, 1)
			source.Serve(fleet, busy)
			source.Replace(tc.q, tc.rows)
			got := only(t, source, fleet).Replicas[0]
			read := map[query.Quantity]scaling.Reading{
				query.QueueLengthPeak: got.QueueLength, query.KVCacheUsagePeak: got.KVCacheUsage, query.KVCapacity: got.KVCapacity,
			}[tc.q]
			if read != tc.want {
				t.Errorf("got %v, want %v", read, tc.want)
			}
		})
	}
}

func TestReplicasAreThePodsThatAreReadyOrReport(t *testing.T) {
	fleet := collectortest.Fleet(t0, 1, 4)
	fleet.Pods[1].Ready, fleet.Pods[3].Ready = false, false
	fleet.Pods = append(fleet.Pods, scaling.Pod{
		Namespace: "serving", Name: "stray", Ready: true,
		Variant: scaling.VariantKey{Namespace: "serving", Name: "deleted"},
	})
	reporting := fleet
	reporting.Pods = fleet.Pods[:2] // 0 is Ready, 1 is not; 2 is Ready and silent, 3 neither
	source := collectortest.New()
	source.Serve(reporting, busy)

	var got []string
	for _, r := range only(t, source, fleet).Replicas {
		line := r.Pod
		if r.Ready {
			line += " ready"
		}
		if r.Reports() {
			line += " reports"
		}
		if r.At.Equal(t0.Add(-busy.Age)) {
			line += " scraped"
		}
		got = append(got, line)
	}
	want := []string{"m000-0 ready reports scraped", "m000-1 reports scraped", "m000-2 ready"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("replicas (-want +got):\n%s", diff)
	}
}

func TestSnapshotsAreSortedAndKeepModelsApart(t *testing.T) {
	fleet := collectortest.Fleet(t0, 1, 1)
	for _, namespace := range []string{"zoo", "alpha"} { // the same names, three times
		other := collectortest.Fleet(t0, 1, 1)
		other.Variants[0].Key.Namespace, other.Variants[0].Model.Namespace = namespace, namespace
		other.Pods[0].Namespace, other.Pods[0].Variant.Namespace = namespace, namespace
		fleet.Variants = append(fleet.Variants, other.Variants...)
		fleet.Pods = append(fleet.Pods, other.Pods...)
	}
	second := fleet.Variants[0]
	second.Key.Name = "a-second"
	fleet.Variants = append(fleet.Variants, second)
	fleet.Pods = append(fleet.Pods, scaling.Pod{Namespace: "serving", Name: "x", Variant: second.Key, Ready: true})

	source := collectortest.New()
	source.Serve(fleet, busy)
	var got []string
	for _, s := range collect(t, source, fleet) {
		line := s.Model.String()
		for _, r := range s.Replicas {
			line += " " + r.Variant.String() + ":" + r.Pod
		}
		got = append(got, line)
	}
	want := []string{"alpha/m000 alpha/m000:m000-0", "serving/m000 serving/a-second:x serving/m000:m000-0", "zoo/m000 zoo/m000:m000-0"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("snapshots (-want +got):\n%s", diff)
	}
}

func TestNewestPageOfSeveralJobsCounts(t *testing.T) {
	source, fleet := collectortest.New(), collectortest.Fleet(t0, 1, 1)
	source.Serve(fleet, busy)
	source.Answer(query.LastScrape,
		row(float64(t0.Add(-10*time.Minute).Unix()), "job", "old", "stat", "at"),
		row(float64(t0.Add(-4*time.Second).Unix()), "job", "new", "stat", "at"))
	got := only(t, source, fleet).Replicas[0]
	if got.KVCacheUsage != fresh(0.5) || !got.At.Equal(t0.Add(-4*time.Second)) {
		t.Errorf("got %v scraped at %s", got.KVCacheUsage, got.At)
	}
}
