package lab

import (
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/simtest"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/workload"
)

func TestPassesWithOneSeedAreTheSame(t *testing.T) {
	s := testGenerator(t, "gamma(5,10m,cv=2)")
	if diff := cmp.Diff(collect(t, s.Open(3)), collect(t, s.Open(3))); diff != "" {
		t.Errorf("two passes with seed 3 differ:\n%s", diff)
	}
	if cmp.Equal(collect(t, s.Open(3)), collect(t, s.Open(4))) {
		t.Error("passes with seeds 3 and 4 are the same")
	}
}

func TestPartsOfAWorkloadTogetherAreTheWhole(t *testing.T) {
	s := testGenerator(t, "constant(10,5m)")
	parts := []float64{5, 3, 2}
	var together []workload.Request
	for i := range parts {
		part := collect(t, s.Part(parts, i).Open(1))
		if len(part) < 400 { // 3000 requests, a fifth of them at the least
			t.Errorf("part %d has %d requests", i, len(part))
		}
		together = append(together, part...)
	}
	slices.SortStableFunc(together, func(a, b workload.Request) int { return int(a.At - b.At) })
	if diff := cmp.Diff(collect(t, s.Open(1)), together); diff != "" {
		t.Error("the parts are not the whole:\n" + diff)
	}
}

func TestWindowBeginsAtZero(t *testing.T) {
	s := testGenerator(t, "constant(10,5m)")
	var want []workload.Request
	for _, r := range collect(t, s.Open(1)) {
		if r.At >= time.Minute && r.At < 3*time.Minute {
			r.At -= time.Minute
			want = append(want, r)
		}
	}
	if diff := cmp.Diff(want, collect(t, s.Window(time.Minute, 2*time.Minute).Open(1))); diff != "" {
		t.Error(diff)
	}
}

// listed is a workload of known requests.
func listed(all []workload.Request) Source {
	return Source{Name: "listed", Open: func(uint64) iter.Seq2[workload.Request, error] {
		return workload.WithoutError(slices.Values(all))
	}}
}

func TestSurveyReadsAMeanAndASample(t *testing.T) {
	var all []workload.Request
	for i := range 20_000 {
		all = append(all, workload.Request{At: time.Duration(i) * 100 * time.Millisecond, InputTokens: 100 + 200*(i%2), OutputTokens: 30})
	}
	o, err := survey(t.Context(), listed(all), 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	if o.Requests != 20_000 || o.Span != 1999900*time.Millisecond || o.Lengths.InputTokens != 200 || o.Lengths.OutputTokens != 30 {
		t.Errorf("got %d requests in %s, %+v", o.Requests, o.Span, o.Lengths)
	}
	if o.Opening < 9.9 || o.Opening > 10.1 {
		t.Errorf("opening with %g requests/s, want 10", o.Opening)
	}
	if o.Peak < 9.9 || o.Peak > 10.1 {
		t.Errorf("a peak of %g requests/s, want 10", o.Peak)
	}
	if n := len(o.sample); n < 2000 || n >= 4096 || o.sample[n-1].At < o.Span*9/10 {
		t.Errorf("a sample of %d, the last from %s: want 2000 or more from all over %s", n, o.sample[n-1].At, o.Span)
	}
	if short, err := survey(t.Context(), listed(all), 1, time.Minute); err != nil || short.Requests != 600 {
		t.Errorf("a minute has %d requests, %v; want 600", short.Requests, err)
	}
	if late, err := survey(t.Context(), listed(all[10_000:]), 1, time.Minute); err != nil || late.Requests != 1 {
		t.Errorf("before the first request: %d, %v; want it", late.Requests, err)
	}
	if _, err := survey(t.Context(), listed(nil), 1, 0); err == nil || err.Error() != "the workload listed has no requests" {
		t.Errorf("empty: %v", err)
	}
}

func TestFilesAreToldApart(t *testing.T) {
	log, err := File(testTrace(t, 10, 1), FileOptions{})
	if err != nil || log.Curve || len(collect(t, log.Open(1))) != 10 {
		t.Errorf("a log: %+v, %v", log, err)
	}
	name := testFile(t, "rates.csv", "window_start_s,requests_per_s\n0,100\n600,200\n1200,50\n")
	curve, err := File(name, FileOptions{Lengths: simtest.Alike(t, 10, 10), Peak: 2, Take: 20 * time.Minute})
	if err != nil || !curve.Curve || curve.Length != 20*time.Minute {
		t.Fatalf("a curve: %+v, %v", curve, err)
	}
	// 1 and then 2 requests/s for ten minutes each.
	if n := len(collect(t, curve.Open(1))); n < 1600 || n > 2000 {
		t.Errorf("the curve has %d requests, want about 1800", n)
	}
	if _, err := File(t.TempDir(), FileOptions{}); err == nil {
		t.Error("a folder is no workload")
	}
}

// TestALogIsResampledForEverySeedButTheFirst: seed 1 is the record.
func TestALogIsResampledForEverySeedButTheFirst(t *testing.T) {
	log, err := File(testTrace(t, 2000, 4), FileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	first := collect(t, log.Open(1))
	for i, r := range first {
		if want := time.Duration(i) * 250 * time.Millisecond; r.At != want || r.InputTokens != 50+i%200 {
			t.Fatalf("request %d with seed 1 is %+v, want that of the record at %s", i, r, want)
		}
	}
	second := collect(t, log.Open(2))
	if cmp.Equal(first, second) || cmp.Equal(second, collect(t, log.Open(3))) {
		t.Error("two seeds have the same requests")
	}
	if diff := cmp.Diff(second, collect(t, log.Open(2))); diff != "" {
		t.Errorf("two passes with seed 2 differ:\n%s", diff)
	}
	if n := len(second); n < 1950 || n > 2050 {
		t.Errorf("%d requests, want about 2000", n)
	}
}

func TestRepeatGoesOnWithOtherArrivals(t *testing.T) {
	log := []workload.Request{{At: time.Second, InputTokens: 1}, {At: 4 * time.Second, InputTokens: 2}}
	if got := collect(t, listed(log).Repeat(9*time.Second).Open(1)); len(got) != 6 || got[2].At != 5*time.Second || got[5].At != 12*time.Second {
		t.Errorf("a log of 4 s three times: %v", got)
	}
	s := testGenerator(t, "constant(10,5m)")
	twice := s.Repeat(6 * time.Minute)
	if twice.Length != 10*time.Minute {
		t.Errorf("6 minutes of 5 take %s, want 10m", twice.Length)
	}
	first, all := collect(t, s.Open(1)), collect(t, twice.Open(1))
	if diff := cmp.Diff(first, all[:len(first)]); diff != "" {
		t.Errorf("the first time is not the workload:\n%s", diff)
	}
	second := collect(t, Source{Open: twice.Open}.Window(5*time.Minute, time.Hour).Open(1))
	if cmp.Equal(first, second) || len(second) < 2500 || len(first)+len(second) != len(all) {
		t.Errorf("%d requests the second time, %d the first time, together %d: want about as many at other times", len(second), len(first), len(all))
	}
	if !slices.IsSortedFunc(all, func(a, b workload.Request) int { return int(a.At - b.At) }) {
		t.Error("requests are not in order")
	}
	if got := collect(t, s.Repeat(5*time.Minute).Open(1)); !cmp.Equal(got, first) {
		t.Error("what is as long already changed")
	}
	if got := collect(t, listed(nil).Repeat(time.Hour).Open(1)); len(got) != 0 {
		t.Errorf("nothing, repeated: %v", got)
	}
}
