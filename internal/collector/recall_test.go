package collector_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/collectortest"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// rests makes a model one that has nothing to do.
func rests(s *collectortest.Source, model string) {
	for _, ask := range []query.Question{query.AskRunning, query.AskQueueLength, query.AskFlow} {
		rows := s.Rows(ask)
		for i := range rows {
			if rows[i].Model == model {
				rows[i].Value = 0
			}
		}
		s.Replace(ask, rows...)
	}
}

// quietSince is an answer to query.AskRecent.
func quietSince(model string, ago time.Duration) query.Row {
	return collectortest.ModelRow(query.QuietSince, collectortest.Namespace, model, collectortest.Unix(t0.Add(-ago)))
}

// recalling asks back by the same span for every model.
func recalling(span time.Duration) collector.Options {
	return collector.Options{Recall: func(models []scaling.ModelVariants) map[scaling.ModelKey]time.Duration {
		out := map[scaling.ModelKey]time.Duration{}
		for _, m := range models {
			out[m.Model] = span
		}
		return out
	}}
}

func TestTheSourceSaysSinceWhenAModelIsIdle(t *testing.T) {
	const ahead = time.Hour // of the manager's clock
	long := quietSince("m000", 11*time.Minute)
	for name, tt := range map[string]struct {
		change func(*collectortest.Source, *scaling.Fleet)
		span   time.Duration
		want   time.Duration // before now, 0 where nothing is known
	}{
		"as it says": {func(*collectortest.Source, *scaling.Fleet) {}, 12 * time.Minute, 11 * time.Minute},
		"of two answers the later": {func(s *collectortest.Source, _ *scaling.Fleet) {
			s.Answer(query.AskRecent, quietSince("m000", 3*time.Minute))
		}, 12 * time.Minute, 3 * time.Minute},
		"nobody wants to know":  {func(*collectortest.Source, *scaling.Fleet) {}, 0, 0},
		"the question fails":    {func(s *collectortest.Source, _ *scaling.Fleet) { s.Fail(query.AskRecent, errors.New("no")) }, 12 * time.Minute, 0},
		"the answer has no row": {func(s *collectortest.Source, _ *scaling.Fleet) { s.Replace(query.AskRecent) }, 12 * time.Minute, 0},
		"the answer is no time": {func(s *collectortest.Source, _ *scaling.Fleet) {
			s.Replace(query.AskRecent, collectortest.ModelRow(query.QuietSince, collectortest.Namespace, "m000", math.NaN()))
		}, 12 * time.Minute, 0},
		"of a model that is busy": {func(s *collectortest.Source, _ *scaling.Fleet) {
			s.Replace(query.AskRunning, collectortest.PodRow(query.Running, collectortest.Namespace, "m000-1", "m000", 1))
		}, 12 * time.Minute, 0},
		"a Ready pod has no page": {func(s *collectortest.Source, _ *scaling.Fleet) {
			s.Replace(query.AskPages, s.Rows(query.AskPages)[1:]...)
		}, 12 * time.Minute, 0},
		"a model without a pod": {func(s *collectortest.Source, f *scaling.Fleet) {
			s.Clear()
			s.Answer(query.AskRecent, long)
			f.Pods = nil
		}, 12 * time.Minute, 0},
	} {
		t.Run(name, func(t *testing.T) {
			source, fleet := serving(1, 2, busy)
			rests(source, "m000")
			source.Answer(query.AskRecent, long)
			tt.change(source, &fleet)
			options := recalling(tt.span)
			var fault error
			options.ObserveFetch = func(_ time.Duration, err error) { fault = err }
			got := collector.New(source, testingclock.NewFakePassiveClock(t0.Add(ahead)), options).Collect(t.Context(), fleet)[0].Load.Recent
			var want scaling.Recent
			if tt.want > 0 {
				want = scaling.Recent{Requests: scaling.Measured(0, scaling.Fresh), Since: t0.Add(ahead - tt.want)}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if fault != nil {
				t.Errorf("the fetch is not complete: %v", fault)
			}
		})
	}
}

// TestSpansAreAskedAboutOneByOne: models with the same retention period share a
// question.
func TestSpansAreAskedAboutOneByOne(t *testing.T) {
	source, fleet := serving(3, 1, busy)
	for _, model := range []string{"m000", "m001", "m002"} {
		rests(source, model)
		source.Answer(query.AskRecent, quietSince(model, 5*time.Minute))
	}
	spans := map[string]time.Duration{"m000": 30 * time.Minute, "m001": 12 * time.Minute, "m002": 30 * time.Minute}
	snapshots := collector.New(source, testingclock.NewFakePassiveClock(t0), collector.Options{
		Recall: func(models []scaling.ModelVariants) map[scaling.ModelKey]time.Duration {
			out := map[scaling.ModelKey]time.Duration{}
			for _, m := range models {
				out[m.Model] = spans[m.Model.ID]
			}
			return out
		},
	}).Collect(t.Context(), fleet)
	got := map[time.Duration][]string{}
	for _, call := range source.Calls() {
		if call.Ask == query.AskRecent {
			got[call.Span] = call.Models
		}
	}
	want := map[time.Duration][]string{12 * time.Minute: {"m001"}, 30 * time.Minute: {"m000", "m002"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	for _, s := range snapshots {
		if s.Load.Recent.Since != t0.Add(-5*time.Minute) {
			t.Errorf("%s: %+v", s.Model.ID, s.Load.Recent)
		}
	}
}

// TestAModelIDAsLongAsAnObjectLeavesTheOthersAlone: its owner may write any text,
// and an expression that repeats it is one that a store refuses for every model.
func TestAModelIDAsLongAsAnObjectLeavesTheOthersAlone(t *testing.T) {
	source, fleet := serving(2, 1, busy)
	long := strings.Repeat("x", 1<<20)
	fleet.Variants[1].Model.ID = long
	rests(source, "m000")
	source.Answer(query.AskRecent, quietSince("m000", 11*time.Minute))
	options := recalling(12 * time.Minute)
	options.Percentiles = func(scaling.ModelKey) bool { return true }
	got := collector.New(source, testingclock.NewFakePassiveClock(t0), options).Collect(t.Context(), fleet)
	for _, call := range source.Calls() {
		if (call.Ask == query.AskObjective || call.Ask == query.AskRecent) && slices.Contains(call.Models, long) {
			t.Errorf("%s names it: an expression of %d bytes", call.Ask, len(call.PromQL()))
		}
	}
	if want := t0.Add(-11 * time.Minute); !got[0].Load.Recent.Since.Equal(want) {
		t.Errorf("the other model is quiet since %s, want %s", got[0].Load.Recent.Since, want)
	}
}
