package collector_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/collectortest"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// paces is what one pod of a role does within the window.
type paces struct{ started, starting, generated, decoding float64 }

// Each prefill pod starts 2 requests/s after 0.3 s, each decode pod 3 after 0.05 s, with 100 further
// tokens each at 20 ms: two of each, so four of six requests are split.
var (
	prefillPace = paces{started: 2, starting: 0.6}
	decodePace  = paces{started: 3, starting: 0.15, generated: 300, decoding: 6}
)

// servingRoles returns a model m000 of a prefill and a decode variant, with two pods each, and a source
// that serves page for it.
func servingRoles(page collectortest.Page) (*collectortest.Source, scaling.Fleet) {
	source, fleet := collectortest.New(t0), collectortest.Fleet(t0, 2, 2)
	for i, role := range []scaling.Role{scaling.RolePrefill, scaling.RoleDecode} {
		fleet.Variants[i].Model.ID, fleet.Variants[i].Role = "m000", role
	}
	source.Serve(fleet, page)
	for _, p := range fleet.Pods {
		of := decodePace
		if p.Variant.Name == "m000" {
			of = prefillPace
		}
		pace(source, p.Name, of)
	}
	return source, fleet
}

// pace adds what a pod of m000 does.
func pace(s *collectortest.Source, pod string, of paces) {
	for q, v := range map[query.Quantity]float64{
		query.Started: of.started, query.Starting: of.starting, query.Generated: of.generated, query.Decoding: of.decoding,
	} {
		s.Answer(query.AskPace, collectortest.PodRow(q, collectortest.Namespace, pod, "m000", v))
	}
}

// alone is busy without a gateway, growth and waiting requests.
func alone() collectortest.Page {
	page := busy
	page.WithoutGateway, page.InFlightGrowth, page.QueueLength = true, 0, 0
	return page
}

// rolesOf returns the loads of decode and prefill.
func rolesOf(t *testing.T, snap scaling.Snapshot) (decode, prefill scaling.Load) {
	t.Helper()
	if len(snap.Roles) != 2 || snap.Roles[0].Role != scaling.RoleDecode || snap.Roles[1].Role != scaling.RolePrefill {
		t.Fatalf("got roles %+v, want decode and prefill", snap.Roles)
	}
	return snap.Roles[0].Load, snap.Roles[1].Load
}

// near compares readings to nine digits.
var near = cmp.Comparer(func(a, b scaling.Reading) bool {
	return a.State == b.State && a.Value-b.Value < 1e-9 && b.Value-a.Value < 1e-9
})

func TestEachRoleHasTheLoadOfItsPods(t *testing.T) {
	source, fleet := servingRoles(alone())
	snap := only(t, source, fleet)
	decode, prefill := rolesOf(t, snap)
	none, unasked := scaling.Reading{State: scaling.NotApplicable}, scaling.Histogram{State: scaling.NotApplicable}
	wantDecode := scaling.Load{
		ArrivalRate: fresh(6), InputTokens: fresh(100), OutputTokens: fresh(101), TTFT: fresh(50), ITL: fresh(20),
		GatewayQueue: none, PrefixHits: fresh(4.0 / 6), TTFTBuckets: unasked, ITLBuckets: unasked, RequestITLBuckets: unasked,
	}
	wantPrefill := scaling.Load{
		ArrivalRate: fresh(4), InputTokens: fresh(100), OutputTokens: fresh(1), TTFT: fresh(300), ITL: none,
		GatewayQueue: none, PrefixHits: none, TTFTBuckets: unasked, ITLBuckets: unasked, RequestITLBuckets: unasked,
	}
	wantWhole := wantDecode
	wantWhole.TTFT, wantWhole.PrefixHits = fresh(350), none
	for _, c := range []struct {
		name      string
		want, got scaling.Load
	}{{"decode", wantDecode, decode}, {"prefill", wantPrefill, prefill}, {"model", wantWhole, snap.Load}} {
		if diff := cmp.Diff(c.want, c.got, near); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestAModelOfWholeRequestsHasNoRoles(t *testing.T) {
	source, fleet := servingRoles(alone())
	fleet.Variants[0].Role = ""
	snap := only(t, source, fleet)
	if snap.Roles != nil || snap.Load.TTFT != fresh(80) {
		t.Errorf("got roles %+v and a TTFT of %v, want none and the mean of all pods", snap.Roles, snap.Load.TTFT)
	}
	if slices.Contains(source.Asked(), query.AskPace) {
		t.Error("asked for paces that no role and no objective needs")
	}
}

// TestPacesAreAskedForModelsWithRoles: histograms stay those of the models with an objective.
func TestPacesAreAskedForModelsWithRoles(t *testing.T) {
	for _, tc := range []struct {
		name      string
		objective string
		want      map[query.Question][]string
	}{
		{"no objective", "", map[query.Question][]string{query.AskPace: {"m000"}}},
		{"one of another model", "m002", map[query.Question][]string{query.AskPace: {"m000", "m002"}, query.AskObjective: {"m002"}}},
		{"one of its own", "m000", map[query.Question][]string{query.AskPace: {"m000"}, query.AskObjective: {"m000"}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			source, fleet := collectortest.New(t0), collectortest.Fleet(t0, 3, 1)
			fleet.Variants[0].Role, fleet.Variants[1].Role, fleet.Variants[1].Model.ID = scaling.RolePrefill, scaling.RoleDecode, "m000"
			source.Serve(fleet, busy)
			options := collector.Options{Percentiles: func(m scaling.ModelKey) bool { return m.ID == tc.objective }}
			collector.New(source, testingclock.NewFakePassiveClock(t0), options).Collect(t.Context(), fleet)
			got := map[query.Question][]string{}
			for _, r := range source.Calls() {
				if r.Ask == query.AskPace || r.Ask == query.AskObjective {
					got[r.Ask] = r.Models
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("models (-want +got):\n%s", diff)
			}
		})
	}
}

// TestGrowthIsOfTheRoleWhoseRequestsWait: of 4 requests/s that prefill starts and 6 that decode does.
func TestGrowthIsOfTheRoleWhoseRequestsWait(t *testing.T) {
	for _, tc := range []struct {
		name            string
		growth          float64
		prefill, decode float64 // waiting requests of each pod
		drop            bool
		wantPrefill     scaling.Reading
		wantDecode      scaling.Reading
	}{
		{"nothing waits: what grows has started", 3, 0, 0, false, fresh(4), fresh(6)},
		{"requests wait for prefill", 3, 150, 0, false, fresh(7), fresh(6)},
		{"requests wait for decode", 3, 0, 150, false, fresh(4), fresh(9)},
		{"requests wait for both", 4, 90, 270, false, fresh(5), fresh(9)},
		{"no more than wait came within the minute", 3, 15, 0, false, fresh(4.5), fresh(6)},
		{"a queue that shrinks is not subtracted", -3, 150, 150, false, fresh(4), fresh(6)},
		{"growth that is not known", 3, 150, 0, true, aging(4), aging(6)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			page := alone()
			page.InFlightGrowth = tc.growth
			source, fleet := servingRoles(page)
			var rows []query.Row
			for _, p := range fleet.Pods {
				waiting := tc.decode
				if p.Variant.Name == "m000" {
					waiting = tc.prefill
				}
				rows = append(rows, collectortest.PodRow(query.QueueLength, collectortest.Namespace, p.Name, "m000", waiting))
			}
			source.Replace(query.AskQueueLength, rows...)
			if tc.drop {
				source.Drop(query.AskFlow, query.InFlightGrowth)
			}
			decode, prefill := rolesOf(t, only(t, source, fleet))
			if !cmp.Equal(prefill.ArrivalRate, tc.wantPrefill, near) || !cmp.Equal(decode.ArrivalRate, tc.wantDecode, near) {
				t.Errorf("got prefill %v, decode %v; want %v, %v", prefill.ArrivalRate, decode.ArrivalRate, tc.wantPrefill, tc.wantDecode)
			}
		})
	}
}

// TestASilentRoleDoesNotHideTheOther: the other role is as fresh as its own pages.
func TestASilentRoleDoesNotHideTheOther(t *testing.T) {
	absent, stale := scaling.Reading{}, scaling.Reading{State: scaling.Stale}
	for _, tc := range []struct {
		name                   string
		silent                 string // the variant
		age                    time.Duration
		paces                  bool // the store has still rates of it
		decode, prefill, whole scaling.Reading
		ttft                   scaling.Reading // of the model
	}{
		{"prefill was scraped two minutes ago", "m000", 2 * time.Minute, true, fresh(6), aging(4), aging(6), aging(350)},
		{"prefill was scraped ten minutes ago", "m000", 10 * time.Minute, false, fresh(6), stale, aging(6), stale},
		{"prefill was never scraped", "m000", 0, false, fresh(6), absent, aging(6), absent},
		{"decode was scraped two minutes ago", "m001", 2 * time.Minute, true, aging(6), fresh(4), aging(6), aging(350)},
		{"decode was never scraped", "m001", 0, false, absent, fresh(4), absent, absent},
	} {
		t.Run(tc.name, func(t *testing.T) {
			source, fleet := servingRoles(alone())
			silent := func(r query.Row) bool { return r.Pod == tc.silent+"-0" || r.Pod == tc.silent+"-1" }
			pages := source.Rows(query.AskPages)
			for i := range pages {
				if silent(pages[i]) {
					pages[i].Value = collectortest.Unix(t0.Add(-tc.age))
				}
			}
			if tc.age == 0 {
				pages = slices.DeleteFunc(pages, silent)
			}
			source.Replace(query.AskPages, pages...)
			if !tc.paces {
				source.Replace(query.AskPace, slices.DeleteFunc(source.Rows(query.AskPace), silent)...)
			}
			snap := only(t, source, fleet)
			decode, prefill := rolesOf(t, snap)
			want := []scaling.Reading{tc.decode, tc.prefill, tc.whole, tc.ttft}
			got := []scaling.Reading{decode.ArrivalRate, prefill.ArrivalRate, snap.Load.ArrivalRate, snap.Load.TTFT}
			if diff := cmp.Diff(want, got, near); diff != "" {
				t.Errorf("decode, prefill, model, TTFT of the model (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRolesWithoutPacesAreUnknown(t *testing.T) {
	source, fleet := servingRoles(alone())
	source.Fail(query.AskPace, errBoom)
	snap := only(t, source, fleet)
	decode, prefill := rolesOf(t, snap)
	for _, got := range []scaling.Reading{decode.ArrivalRate, prefill.ArrivalRate, decode.TTFT, decode.OutputTokens, snap.Load.ArrivalRate, snap.Load.TTFT} {
		if got.State != scaling.Absent {
			t.Errorf("got %v, want absent", got)
		}
	}
}

func TestAnIdleModelWithRolesHasNoMeans(t *testing.T) {
	source, fleet := servingRoles(alone())
	for _, rows := range []bool{true, false} {
		var idle []query.Row
		for _, r := range source.Rows(query.AskPace) {
			if r.Value = 0; rows {
				idle = append(idle, r)
			}
		}
		source.Replace(query.AskPace, idle...)
		source.Drop(query.AskMeans, query.InputTokens)
		snap := only(t, source, fleet)
		decode, prefill := rolesOf(t, snap)
		for name, l := range map[string]scaling.Load{"decode": decode, "prefill": prefill, "model": snap.Load} {
			if l.ArrivalRate != fresh(0) {
				t.Errorf("%s, rows %t: got %v, want 0", name, rows, l.ArrivalRate)
			}
			for _, r := range []scaling.Reading{l.InputTokens, l.OutputTokens, l.TTFT, l.ITL, l.PrefixHits} {
				if r.State != scaling.NotApplicable {
					t.Errorf("%s, rows %t: got a mean of %v without a request", name, rows, r)
				}
			}
		}
	}
}

// TestDecodeServesRequestsWithoutPrefill: a prefill that gets none neither delays them nor has a part.
func TestDecodeServesRequestsWithoutPrefill(t *testing.T) {
	source, fleet := servingRoles(alone())
	source.Replace(query.AskPace)
	for _, p := range fleet.Pods {
		of := decodePace
		if p.Variant.Name == "m000" {
			of = paces{}
		}
		pace(source, p.Name, of)
	}
	snap := only(t, source, fleet)
	decode, prefill := rolesOf(t, snap)
	if prefill.ArrivalRate != fresh(0) || decode.PrefixHits != fresh(0) || !cmp.Equal(snap.Load.TTFT, fresh(50), near) {
		t.Errorf("got prefill %v, prefix hits %v, TTFT %v; want 0, 0, 50", prefill.ArrivalRate, decode.PrefixHits, snap.Load.TTFT)
	}
}

func TestDecodeOfOneTokenHasNoITL(t *testing.T) {
	source, fleet := servingRoles(alone())
	source.Replace(query.AskPace)
	for _, p := range fleet.Pods {
		pace(source, p.Name, prefillPace)
	}
	decode, _ := rolesOf(t, only(t, source, fleet))
	if decode.OutputTokens != fresh(1) || decode.ITL.State != scaling.NotApplicable {
		t.Errorf("got %v tokens at %v, want 1 without an ITL", decode.OutputTokens, decode.ITL)
	}
}

// TestTheGatewayRaisesBothRoles: of 12 requests/s that it counts, as of 6, two thirds are split. What
// it holds waits for prefill.
func TestTheGatewayRaisesBothRoles(t *testing.T) {
	page := alone()
	page.WithoutGateway, page.GatewayArrivals, page.GatewayQueue = false, 12, 7
	source, fleet := servingRoles(page)
	snap := only(t, source, fleet)
	decode, prefill := rolesOf(t, snap)
	got := []scaling.Reading{decode.ArrivalRate, prefill.ArrivalRate, snap.Load.ArrivalRate, prefill.GatewayQueue, snap.Load.GatewayQueue, decode.GatewayQueue}
	want := []scaling.Reading{fresh(12), fresh(8), fresh(12), fresh(7), fresh(7), {State: scaling.NotApplicable}}
	if diff := cmp.Diff(want, got, near); diff != "" {
		t.Errorf("rates and queues (-want +got):\n%s", diff)
	}
}

func TestAQueueSeenAtTheGateIsOfPrefill(t *testing.T) {
	source, fleet := servingRoles(alone())
	options := collector.Options{Waiting: func(scaling.ModelKey) float64 { return 5 }}
	snap := collector.New(source, testingclock.NewFakePassiveClock(t0), options).Collect(t.Context(), fleet)[0]
	decode, prefill := rolesOf(t, snap)
	if prefill.GatewayQueue != fresh(5) || decode.GatewayQueue.Known() {
		t.Errorf("got prefill %v, decode %v; want 5 and none", prefill.GatewayQueue, decode.GatewayQueue)
	}
}

// TestRatesOfRolesAreLowerBoundsWhileThoseOfEndedPodsCount: a pod that was scraped as late as the
// model's own is of others.
func TestRatesOfRolesAreLowerBoundsWhileThoseOfEndedPodsCount(t *testing.T) {
	for _, tc := range []struct {
		name    string
		page    time.Duration // since the last scrape of the other pod, 0 for none
		started float64
		want    scaling.Freshness
	}{
		{"it ended within the window", 0, 1, scaling.Aging},
		{"its last page is still there", 40 * time.Second, 1, scaling.Aging},
		{"it served nothing", 0, 0, scaling.Fresh},
		{"it serves beside them", 5 * time.Second, 1, scaling.Fresh},
	} {
		t.Run(tc.name, func(t *testing.T) {
			source, fleet := servingRoles(alone())
			pace(source, "other", paces{started: tc.started})
			if tc.page > 0 {
				row := collectortest.PodRow(query.PageTime, collectortest.Namespace, "other", "m000", collectortest.Unix(t0.Add(-tc.page)))
				row.Job = collectortest.Job
				source.Answer(query.AskPages, row)
			}
			decode, prefill := rolesOf(t, only(t, source, fleet))
			if decode.ArrivalRate.State != tc.want || prefill.ArrivalRate.State != tc.want {
				t.Errorf("got %v and %v, want %v", decode.ArrivalRate, prefill.ArrivalRate, tc.want)
			}
		})
	}
}

// TestRequestsOfPrefillHaveNoITL: those that end with their first token count as 0 in the
// distribution of the mean ITL of requests.
func TestRequestsOfPrefillHaveNoITL(t *testing.T) {
	source, fleet := servingRoles(alone())
	last := bucket(query.RequestITLBuckets, 0, 10)
	last.Bound = math.Inf(1)
	source.Answer(query.AskObjective, bucket(query.RequestITLBuckets, 10, 4), bucket(query.RequestITLBuckets, 50, 9), last)
	options := collector.Options{Percentiles: func(scaling.ModelKey) bool { return true }}
	snap := collector.New(source, testingclock.NewFakePassiveClock(t0), options).Collect(t.Context(), fleet)[0]
	want := scaling.Histogram{State: scaling.Fresh, Total: 6, Buckets: []scaling.Bucket{{Bound: 10, Rate: 0}, {Bound: 50, Rate: 5}}}
	decode, _ := rolesOf(t, snap)
	if diff := cmp.Diff(want, decode.RequestITLBuckets); diff != "" {
		t.Errorf("decode (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, snap.Load.RequestITLBuckets); diff != "" {
		t.Errorf("model (-want +got):\n%s", diff)
	}
}

// TestPickersCountEachRequestOnce: they do not tell which of them prefill gets.
func TestPickersCountEachRequestOnce(t *testing.T) {
	source, fleet := servingRoles(alone())
	source.Replace(query.AskPace)
	options := collector.Options{Backend: scaling.BackendEPP}
	snap := collector.New(source, testingclock.NewFakePassiveClock(t0), options).Collect(t.Context(), fleet)[0]
	decode, prefill := rolesOf(t, snap)
	if decode.ArrivalRate != fresh(3) || decode.OutputTokens != fresh(200) || snap.Load.TTFT != fresh(80) {
		t.Errorf("got %v requests/s of %v tokens, TTFT %v; want those of the picker", decode.ArrivalRate, decode.OutputTokens, snap.Load.TTFT)
	}
	if prefill.ArrivalRate.State != scaling.Absent || decode.TTFT.State != scaling.Absent {
		t.Errorf("got prefill %v and a TTFT of decode %v, want absent", prefill.ArrivalRate, decode.TTFT)
	}
}

// TestRatesOfRanksAddUp: each rank of a pod serves other requests.
func TestRatesOfRanksAddUp(t *testing.T) {
	source, fleet := servingRoles(alone())
	rows := source.Rows(query.AskPace)
	source.Replace(query.AskPace)
	for _, r := range rows {
		if r.Pod == "m001-0" {
			for _, rank := range []string{"-rank-0", "-rank-1"} {
				of := r
				of.Pod, of.Value = r.Pod+rank, r.Value/2
				source.Answer(query.AskPace, of)
			}
			continue
		}
		source.Answer(query.AskPace, r)
	}
	decode, _ := rolesOf(t, only(t, source, fleet))
	if !cmp.Equal(decode.ArrivalRate, fresh(6), near) || !cmp.Equal(decode.OutputTokens, fresh(101), near) || !cmp.Equal(decode.ITL, fresh(20), near) {
		t.Errorf("got %v requests/s of %v tokens at %v ms; want 6 of 101 at 20", decode.ArrivalRate, decode.OutputTokens, decode.ITL)
	}
}
