package collector_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/collectortest"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// falls is a row that says that several pods write a series in turn.
func falls(changes ...func(*query.Row)) query.Row {
	return podRow(query.Resets, 7, append([]func(*query.Row){ofJob("svc"), func(r *query.Row) { r.Instance = "m:8000" }}, changes...)...)
}

// TestSeriesOfSeveralPodsAllowNoReduction: readings of pods that they name are Aging at best,
// and rates that contain them are not known.
func TestSeriesOfSeveralPodsAllowNoReduction(t *testing.T) {
	const said = `The token counter of {job="svc",instance="m:8000"`
	shown := func(pod string, age time.Duration) query.Row {
		return podRow(query.PageTime, scrapedAgo(age), ofPod(pod), ofJob("svc"))
	}
	for name, tc := range map[string]struct {
		rows    []query.Row
		pages   []query.Row
		partial []bool // of the two pods
		rates   bool   // are known
		told    string // that the sentence begins with
	}{
		"none":                     {nil, nil, []bool{false, false}, true, ""},
		"a pod":                    {[]query.Row{falls(ofPod("m000-0"))}, nil, []bool{true, false}, false, said + `,pod="m000-0"}`},
		"all pods":                 {[]query.Row{falls(ofPod("m000-1")), falls(ofPod("m000-0"))}, nil, []bool{true, true}, false, said + `,pod="m000-0"}`},
		"a rank of a pod":          {[]query.Row{falls(ofPod("m000-1-rank-3"))}, nil, []bool{false, true}, false, said + `,pod="m000-1-rank-3"}`},
		"no pod":                   {[]query.Row{falls(ofPod(""))}, []query.Row{shown("", 0)}, []bool{false, false}, false, said + `}`},
		"a Service for a pod":      {[]query.Row{falls(ofPod("m"))}, []query.Row{shown("m", 0)}, []bool{false, false}, false, said + `,pod="m"}`},
		"a pod that ended":         {[]query.Row{falls(ofPod("m000-9"))}, nil, []bool{false, false}, true, ""},
		"a page that ended":        {[]query.Row{falls(ofPod(""))}, []query.Row{shown("", 20*time.Minute)}, []bool{false, false}, true, ""},
		"another model":            {[]query.Row{falls(ofPod("m000-0"), func(r *query.Row) { r.Model = "other" })}, nil, []bool{false, false}, true, ""},
		"another model's pod":      {[]query.Row{falls(ofPod("other-0"))}, nil, []bool{false, false}, true, ""},
		"no namespace, pods speak": {[]query.Row{falls(ofPod(""), func(r *query.Row) { r.Namespace = "" })}, nil, []bool{false, false}, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			page := busy
			page.WithoutGateway = true
			source, fleet := serving(1, 2, page)
			source.Answer(query.AskGenerating, tc.rows...)
			source.Answer(query.AskPages, tc.pages...)
			got := only(t, source, fleet)
			for i, want := range tc.partial {
				state := scaling.Fresh
				if want {
					state = scaling.Aging
				}
				r := got.Replicas[i]
				for _, reading := range []scaling.Reading{r.KVCacheUsage, r.KVCacheUsageNow, r.QueueLength, r.QueueLengthNow, r.Running, r.KVCapacity} {
					if reading.State != state {
						t.Errorf("%s: a reading is %v, want it %v", r.Pod, reading, state)
					}
				}
				if r.Partial != want || r.Stuck != "" {
					t.Errorf("%s: partial %v, stuck %q, want %v and not", r.Pod, r.Partial, r.Stuck, want)
				}
			}
			if l := got.Load; l.ArrivalRate.Known() != tc.rates || (l.ITL.State == scaling.Fresh) != tc.rates {
				t.Errorf("arrivals are %v and ITL %v, want them known: %v", l.ArrivalRate, l.ITL, tc.rates)
			}
			if !strings.HasPrefix(got.Partial, tc.told) || tc.told == "" && got.Partial != "" {
				t.Errorf("it says %q, want %q", got.Partial, tc.told)
			}
		})
	}
}

// TestSeriesOfSeveralPodsSayWhyThereAreNoReadings: the words come before those that say that a
// label is missing, because the label alone would not help.
func TestSeriesOfSeveralPodsSayWhyThereAreNoReadings(t *testing.T) {
	for name, change := range map[string]func(*query.Row){
		"without a pod":       ofPod(""),
		"without a namespace": func(r *query.Row) { r.Namespace, r.Pod = "", "" },
	} {
		t.Run(name, func(t *testing.T) {
			source, fleet := collectortest.New(t0), collectortest.Fleet(t0, 1, 2)
			source.Answer(query.AskPages, podRow(query.PageTime, scrapedAgo(0), ofJob("svc"), change))
			source.Answer(query.AskGenerating, falls(change))
			got := only(t, source, fleet)
			if !strings.HasPrefix(got.Partial, `The token counter of {job="svc",instance="m:8000"} falls again and again`) || got.Unjoined == "" {
				t.Errorf("it says %q and %q", got.Partial, got.Unjoined)
			}
		})
	}
}

// TestWhatToChangeIsSaidWhateverTheLabels: who deploys the pods chooses them.
func TestWhatToChangeIsSaidWhateverTheLabels(t *testing.T) {
	source, fleet := serving(1, 1, busy)
	long := strings.Repeat("\n\"é", 400)
	source.Answer(query.AskGenerating, falls(ofPod("m000-0"), ofJob(long), func(r *query.Row) { r.Instance = long }))
	if got := only(t, source, fleet).Partial; len(got) > 520 || strings.Contains(got, "\n") || !strings.Contains(got, "headless Service") {
		t.Errorf("%d bytes: %q", len(got), got)
	}
}

// TestAPickerKeepsTheFirstRankOfAPage: readings of the backend epp are Aging at best where the
// target of a variant says that a page has several ranks.
func TestAPickerKeepsTheFirstRankOfAPage(t *testing.T) {
	for name, tc := range map[string]struct {
		backend scaling.Backend
		ranks   int
		pods    []string // as the source names them
		partial bool
	}{
		"several ranks":               {scaling.BackendEPP, 4, []string{"m000-0"}, true},
		"ranks that are not known":    {scaling.BackendEPP, 0, []string{"m000-0"}, false},
		"every rank is an endpoint":   {scaling.BackendEPP, 2, []string{"m000-0-rank-0", "m000-0-rank-1"}, false},
		"some ranks are an endpoint":  {scaling.BackendEPP, 4, []string{"m000-0-rank-0", "m000-0-rank-1"}, true},
		"pages of the pods":           {scaling.BackendPods, 4, []string{"m000-0"}, false},
		"pages of the pods, in store": {scaling.BackendPrometheus, 4, []string{"m000-0"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			source, fleet := serving(1, 1, busy)
			fleet.Variants[0].Limits.Ranks = tc.ranks
			named := fleet
			named.Pods = nil
			for _, pod := range tc.pods {
				named.Pods = append(named.Pods, scaling.Pod{Namespace: collectortest.Namespace, Name: pod, Variant: fleet.Variants[0].Key, Ready: true})
			}
			source.Clear()
			source.Serve(named, busy)
			got := collector.New(source, testingclock.NewFakePassiveClock(t0), collector.Options{Backend: tc.backend}).Collect(t.Context(), fleet)[0]
			r := got.Replicas[0]
			if r.Partial != tc.partial || (r.KVCacheUsage.State == scaling.Fresh) == tc.partial || (r.QueueLength.State == scaling.Fresh) == tc.partial {
				t.Errorf("got %+v, want it partial: %v", r, tc.partial)
			}
			if strings.Contains(got.Partial, "4 data-parallel ranks on the page of pod m000-0") != tc.partial {
				t.Errorf("it says %q", got.Partial)
			}
			if got.Load.ArrivalRate.State != scaling.Fresh {
				t.Errorf("the arrival rate is %v: the picker counts all requests", got.Load.ArrivalRate)
			}
		})
	}
}

// TestARankThatDisappearsGivesNothingUp: what it holds is not known, so the readings of its pod are Aging
// at best, and the Snapshot names it.
func TestARankThatDisappearsGivesNothingUp(t *testing.T) {
	for _, tc := range []struct {
		name    string
		ranks   []int
		silent  int // has no page but readings within the window, -1 for none
		aged    int // was scraped ten minutes ago, -1 for none
		missing string
	}{
		{"all are there", []int{0, 1, 2}, -1, -1, ""},
		{"numbered from another", []int{4, 5}, -1, -1, ""},
		{"one has no page any more", []int{0, 1}, 1, -1, "rank 1 of pod m000-0"},
		{"one was scraped long ago", []int{0, 1}, -1, 0, "rank 0 of pod m000-0"},
		{"one is missing between others", []int{0, 2}, -1, -1, "rank 1 of pod m000-0"},
		{"no rank has a page: the pod is silent", []int{0}, 0, -1, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			source, fleet := serving(1, 1, busy)
			var pages []query.Row
			for _, q := range []query.Question{query.AskQueueLengthPeak, query.AskKVCacheUsagePeak, query.AskQueueLength, query.AskKVCacheUsage} {
				source.Replace(q)
			}
			for _, rank := range tc.ranks {
				name := fmt.Sprintf("m000-0-rank-%d", rank)
				source.Answer(query.AskQueueLengthPeak, queueOf(name, 1))
				source.Answer(query.AskKVCacheUsagePeak, usageOf(name, 0.5))
				switch rank {
				case tc.silent:
				case tc.aged:
					pages = append(pages, pageOf(name, scrapedAgo(10*time.Minute)))
				default:
					pages = append(pages, pageOf(name, scrapedAgo(time.Second)))
				}
			}
			source.Replace(query.AskPages, pages...)
			got := only(t, source, fleet)
			r := got.Replicas[0]
			if partial := tc.missing != ""; r.Partial != partial || partial && (r.QueueLength.State == scaling.Fresh || r.KVCacheUsage.State == scaling.Fresh) {
				t.Errorf("got %+v, want it partial: %t", r, partial)
			}
			if !strings.Contains(got.Partial, tc.missing) || (got.Partial == "") != (tc.missing == "") {
				t.Errorf("it says %q, want %q", got.Partial, tc.missing)
			}
		})
	}
}
