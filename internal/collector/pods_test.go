package collector_test

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/collectortest"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// podRow is a row of the only pod of the fleet, changed as given.
func podRow(q query.Quantity, v float64, change ...func(*query.Row)) query.Row {
	row := collectortest.PodRow(q, collectortest.Namespace, "m000-0", "m000", v)
	for _, f := range change {
		f(&row)
	}
	return row
}

func ofPod(name string) func(*query.Row)       { return func(r *query.Row) { r.Pod = name } }
func ofModel(id string) func(*query.Row)       { return func(r *query.Row) { r.Model = id } }
func ofNamespace(name string) func(*query.Row) { return func(r *query.Row) { r.Namespace = name } }
func ofJob(name string) func(*query.Row)       { return func(r *query.Row) { r.Job = name } }
func ofWitness(name string) func(*query.Row)   { return func(r *query.Row) { r.Witness = name } }
func scrapedAgo(age time.Duration) float64     { return collectortest.Unix(t0.Add(-age)) }
func pageOf(pod string, v float64) query.Row {
	return podRow(query.PageTime, v, ofPod(pod), ofJob("vllm"))
}

func queueOf(pod string, v float64) query.Row { return podRow(query.QueueLengthPeak, v, ofPod(pod)) }

func usageOf(pod string, v float64) query.Row { return podRow(query.KVCacheUsagePeak, v, ofPod(pod)) }

func tokensOf(pod string, v float64) query.Row {
	return podRow(query.KVCapacity, v, ofPod(pod), ofModel(""))
}

func TestRowsJoinLivePods(t *testing.T) {
	const queue, usage, capacity = query.AskQueueLengthPeak, query.AskKVCacheUsagePeak, query.AskKVCapacity
	for _, tc := range []struct {
		name string
		ask  query.Question
		rows []query.Row
		want scaling.Reading
	}{
		{"the pod", queue, []query.Row{queueOf("m000-0", 3)}, fresh(3)},
		{"a pod that does not live", queue, []query.Row{queueOf("m000-9", 3)}, scaling.Reading{}},
		{"no pod", queue, []query.Row{queueOf("", 3)}, scaling.Reading{}},
		{"a pod of the same name elsewhere", queue, []query.Row{podRow(query.QueueLengthPeak, 3, ofNamespace("other"))}, scaling.Reading{}},
		{"another model", queue, []query.Row{podRow(query.QueueLengthPeak, 3, ofModel("m001"))}, scaling.Reading{}},
		{"no model", queue, []query.Row{podRow(query.QueueLengthPeak, 3, ofModel(""))}, scaling.Reading{}},
		{"another quantity in the answer", queue, []query.Row{queueOf("m000-0", 3), podRow(query.Stuck, 7)}, fresh(3)},
		{"duplicates fold", queue, []query.Row{queueOf("m000-0", 3), queueOf("m000-0", 4), queueOf("m000-0", 2)}, fresh(4)},
		{"ranks of a queue add", queue, []query.Row{queueOf("m000-0-rank-0", 3), queueOf("m000-0-rank-1", 4)}, fresh(7)},
		{
			"ranks fold before they add", queue,
			[]query.Row{queueOf("m000-0-rank-0", 3), queueOf("m000-0-rank-1", 4), queueOf("m000-0-rank-0", 5)},
			fresh(9),
		},
		{
			"the whole and its ranks are duplicates", queue,
			[]query.Row{queueOf("m000-0", 8), queueOf("m000-0-rank-0", 3), queueOf("m000-0-rank-1", 4)},
			fresh(8),
		},
		{
			"one unknown rank makes the sum unknown", queue,
			[]query.Row{queueOf("m000-0-rank-0", 3), queueOf("m000-0-rank-1", math.NaN())},
			scaling.Reading{},
		},
		{
			"the worst rank of the KV cache", usage,
			[]query.Row{usageOf("m000-0-rank-0", 0.3), usageOf("m000-0-rank-1", 0.9), usageOf("m000-0-rank-2", 0.1)},
			fresh(0.9),
		},
		{"a suffix that is no rank", queue, []query.Row{queueOf("m000-0-rank-x", 3)}, scaling.Reading{}},
		{"NaN", queue, []query.Row{queueOf("m000-0", math.NaN())}, scaling.Reading{}},
		{"infinite", queue, []query.Row{queueOf("m000-0", math.Inf(1))}, scaling.Reading{}},
		{"negative", queue, []query.Row{queueOf("m000-0", -1)}, scaling.Reading{}},
		{"NaN beside a number", queue, []query.Row{queueOf("m000-0", math.NaN()), queueOf("m000-0", 2)}, fresh(2)},
		{"zero is a number", queue, []query.Row{queueOf("m000-0", 0)}, fresh(0)},
		{"no row of a gauge", queue, nil, scaling.Reading{}},
		{"capacity names no model", capacity, []query.Row{tokensOf("m000-0", 9)}, fresh(9)},
		{"capacity names the model", capacity, []query.Row{podRow(query.KVCapacity, 9)}, fresh(9)},
		{"capacity names another model", capacity, []query.Row{podRow(query.KVCapacity, 9, ofModel("m001"))}, scaling.Reading{}},
		{"capacities fold", capacity, []query.Row{tokensOf("m000-0", 9), tokensOf("m000-0", 7)}, fresh(9)},
		{"capacity is no number", capacity, []query.Row{tokensOf("m000-0", math.NaN())}, scaling.Reading{}},
		{"capacity of a pod elsewhere", capacity, []query.Row{podRow(query.KVCapacity, 9, ofModel(""), ofNamespace("other"))}, scaling.Reading{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			source, fleet := serving(1, 1, busy)
			source.Replace(tc.ask, tc.rows...)
			got := only(t, source, fleet).Replicas[0]
			read := map[query.Question]scaling.Reading{queue: got.QueueLength, usage: got.KVCacheUsage, capacity: got.KVCapacity}[tc.ask]
			if read != tc.want {
				t.Errorf("got %v, want %v", read, tc.want)
			}
		})
	}
}

func TestCapacityIsNotAddedOverRanks(t *testing.T) {
	source, fleet := serving(1, 1, busy)
	source.Replace(query.AskPages, pageOf("m000-0-rank-0", scrapedAgo(time.Second)), pageOf("m000-0-rank-1", scrapedAgo(time.Minute)))
	source.Replace(query.AskKVCapacity, tokensOf("m000-0-rank-0", 9), tokensOf("m000-0-rank-1", 8))
	got := only(t, source, fleet).Replicas[0]
	if got.KVCapacity != fresh(9) || !got.At.Equal(t0.Add(-time.Second)) {
		t.Errorf("got %v, scraped at %s", got.KVCapacity, got.At)
	}
}

func TestLiveNameWithARankIsTakenAsWritten(t *testing.T) {
	source, fleet := serving(1, 1, busy)
	twin := fleet.Pods[0]
	twin.Name = "m000-0-rank-0"
	fleet.Pods = append(fleet.Pods, twin)
	source.Answer(query.AskPages, pageOf(twin.Name, scrapedAgo(0)))
	source.Answer(query.AskQueueLengthPeak, queueOf(twin.Name, 40), queueOf("m000-0-rank-1", 30))
	got := only(t, source, fleet).Replicas
	if got[0].QueueLength != fresh(30) || got[1].QueueLength != fresh(40) {
		t.Errorf("got %v and %v, want 30 and 40", got[0].QueueLength, got[1].QueueLength)
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
	source := collectortest.New(t0)
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

	source := collectortest.New(t0)
	source.Serve(fleet, busy)
	source.Answer(query.AskFlow, collectortest.ModelRow(query.Completions, "zoo", "m000", 70))
	var got []string
	for _, s := range collect(t, source, fleet) {
		line := s.Model.String() + " " + s.Load.ArrivalRate.String()
		for _, r := range s.Replicas {
			line += " " + r.Variant.String() + ":" + r.Pod
		}
		got = append(got, line)
	}
	want := []string{"alpha/m000 4 alpha/m000:m000-0", "serving/m000 4 serving/a-second:x serving/m000:m000-0", "zoo/m000 71 zoo/m000:m000-0"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("snapshots (-want +got):\n%s", diff)
	}
}

func TestNewestPageOfSeveralJobsCounts(t *testing.T) {
	source, fleet := serving(1, 1, busy)
	source.Answer(query.AskPages,
		podRow(query.PageTime, scrapedAgo(10*time.Minute), ofJob("old")),
		podRow(query.PageTime, scrapedAgo(4*time.Second), ofJob("new")))
	got := only(t, source, fleet).Replicas[0]
	if got.KVCacheUsage != fresh(0.5) || !got.At.Equal(t0.Add(-4*time.Second)) {
		t.Errorf("got %v scraped at %s", got.KVCacheUsage, got.At)
	}
}

func TestStuckReplicasHaveNoLoad(t *testing.T) {
	type quiet struct {
		pod  string
		held float64
	}
	stuck := func(pod string, waiting float64) query.Row { return podRow(query.Stuck, waiting, ofPod(pod)) }
	page := func(pod string) query.Row { return pageOf(pod, scrapedAgo(time.Second)) }
	const ranks = "m000-0-rank-"
	for _, tc := range []struct {
		name  string
		pages []query.Row
		quiet []quiet
		stuck []query.Row
		want  scaling.Stuckness
		held  float64
	}{
		{"a pod that works", nil, nil, nil, "", 0},
		{"a pod that is quiet and moves", nil, []quiet{{"m000-0", 3}}, nil, "", 0},
		{"gauges that are left over", nil, []quiet{{"m000-0", 3}}, []query.Row{stuck("m000-0", 0)}, scaling.Frozen, 3},
		{"requests that wait for nothing", nil, []quiet{{"m000-0", 3}}, []query.Row{stuck("m000-0", 2)}, scaling.Sick, 3},
		{"a pod that holds nothing", nil, []quiet{{"m000-0", 0}}, []query.Row{stuck("m000-0", 2)}, "", 0},
		{"a pod that is gone", nil, []quiet{{"m000-9", 3}}, []query.Row{stuck("m000-9", 2)}, "", 0},
		{"duplicates: the worse", nil, []quiet{{"m000-0", 3}}, []query.Row{stuck("m000-0", 0), stuck("m000-0", 1), stuck("m000-0", 0)}, scaling.Sick, 3},
		{
			"all ranks frozen",
			[]query.Row{page(ranks + "0"), page(ranks + "1")},
			[]quiet{{ranks + "0", 3}, {ranks + "1", 4}},
			[]query.Row{stuck(ranks+"0", 0), stuck(ranks+"1", 0)},
			scaling.Frozen, 7,
		},
		{
			"one rank frozen",
			[]query.Row{page(ranks + "0"), page(ranks + "1")},
			[]quiet{{ranks + "0", 3}},
			[]query.Row{stuck(ranks+"0", 0)},
			"", 0,
		},
		{
			"one rank sick",
			[]query.Row{page(ranks + "0"), page(ranks + "1")},
			[]quiet{{ranks + "1", 3}},
			[]query.Row{stuck(ranks+"1", 1)},
			scaling.Sick, 3,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			source, fleet := serving(1, 1, busy)
			for _, q := range tc.quiet {
				holds(source, q.pod, "m000", q.held)
			}
			source.Answer(query.AskStuck, tc.stuck...)
			if tc.pages != nil {
				source.Replace(query.AskPages, tc.pages...)
			}
			got := only(t, source, fleet).Replicas[0]
			if got.Stuck != tc.want || got.Held != tc.held {
				t.Errorf("got %q with %v requests, want %q with %v", got.Stuck, got.Held, tc.want, tc.held)
			}
			loads := []scaling.Reading{got.KVCacheUsage, got.KVCacheUsageNow, got.QueueLength, got.QueueLengthNow, got.Running}
			for _, r := range loads {
				if (r != scaling.Reading{}) != (tc.want == "") {
					t.Errorf("got a load of %v beside %q", r, got.Stuck)
				}
			}
			if got.KVCapacity != fresh(16000) && tc.pages == nil {
				t.Errorf("got a cache of %v: its size is no load", got.KVCapacity)
			}
		})
	}
}

func TestQuietReplicasAreAgingWhileItIsUnknownWhetherTheyAreStuck(t *testing.T) {
	source, fleet := serving(1, 2, busy)
	holds(source, "m000-0", "m000", 3)
	source.Fail(query.AskStuck, errBoom)
	got := only(t, source, fleet).Replicas
	if got[0].QueueLength != aging(2) || got[1].QueueLength != fresh(2) {
		t.Errorf("got %v of the quiet and %v of the other", got[0].QueueLength, got[1].QueueLength)
	}
}

// TestAPodOfUnknownLoadThatGeneratesNothingMayBeStuck loses the
// numbers that make a pod a suspect.
func TestAPodOfUnknownLoadThatGeneratesNothingMayBeStuck(t *testing.T) {
	for _, lost := range []query.Question{query.AskRunning, query.AskQueueLength} {
		source, fleet := serving(1, 2, busy)
		holds(source, "m000-0", "m000", 0)
		source.Fail(lost, errBoom)
		source.Answer(query.AskStuck, podRow(query.Stuck, 2))
		if got := only(t, source, fleet).Replicas; got[0].Stuck != scaling.Sick || got[1].Stuck != "" {
			t.Errorf("without %s: got %q and %q, want the one that generates nothing to be sick", lost, got[0].Stuck, got[1].Stuck)
		}
	}
}

// TestManySuspectsAreNotNamed keeps an expression from growing with the fleet.
func TestManySuspectsAreNotNamed(t *testing.T) {
	source, fleet := serving(1, 501, busy)
	source.Replace(query.AskGenerating)
	collect(t, source, fleet)
	calls := source.Calls()
	if last := calls[len(calls)-1]; last.Ask != query.AskStuck || len(last.Pods) != 0 {
		t.Errorf("the last question is %s about %d pods, want %s about all", last.Ask, len(last.Pods), query.AskStuck)
	}
}

func TestAStuckReplicaOnAStalePageIsStale(t *testing.T) {
	page := busy
	page.Age = 10 * time.Minute
	source, fleet := serving(1, 1, page)
	holds(source, "m000-0", "m000", 3)
	source.Answer(query.AskStuck, podRow(query.Stuck, 0))
	if got := only(t, source, fleet).Replicas[0]; got.Stuck != "" || got.QueueLength.State != scaling.Stale {
		t.Errorf("got %q with %v", got.Stuck, got.QueueLength)
	}
}
