package ledger

import (
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

var start = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func key(name string) scaling.VariantKey { return scaling.VariantKey{Namespace: "ns", Name: name} }

// record is a cycle n minutes after the start that decided on variants, by
// fallback where their name says so.
func record(n scaling.Replicas, names ...string) memory.Record {
	at := start.Add(time.Duration(n) * time.Minute)
	r := memory.Record{Cycle: scaling.CycleID(strconv.Itoa(int(n))), Plan: scaling.Plan{At: at}, History: memory.History{}}
	for _, name := range names {
		r.Fleet.Variants = append(r.Fleet.Variants, scaling.Variant{Key: key(name)})
		d := scaling.Decision{Variant: key(name), Fallback: name == "blind"}
		r.Plan.Decisions = append(r.Plan.Decisions, d.Then(scaling.StageOptimize, n, scaling.ReasonSteady, "because"))
		r.History[key(name)] = memory.Past{Desired: n, DecidedAt: at}
	}
	return r
}

func TestAnAnalysisIsRememberedWhileTheVariantLives(t *testing.T) {
	l := New()
	l.Record(record(1, "seen", "blind"))
	l.Record(record(2, "blind"))
	l.Record(record(3, "seen"))
	for name, want := range map[string]time.Time{
		"seen":  start.Add(3 * time.Minute), // forgotten while it was away, and seen again
		"blind": {},
	} {
		if e, _ := l.Explain(key(name)); !e.AnalyzedAt.Equal(want) {
			t.Errorf("%s: analyzed at %s, want %s", name, e.AnalyzedAt, want)
		}
	}
	l.Record(record(4, "blind"))
	if got := l.AgesFrom(key("seen")); !got.IsZero() {
		t.Errorf("a deleted variant is remembered since %s", got)
	}
}

func TestAChangeIsRememberedWithItsCauseUntilTheNext(t *testing.T) {
	l := New()
	same := record(2, "v")
	same.Plan.Decisions[0] = scaling.Decision{Variant: key("v")}.Then(scaling.StageOptimize, 1, scaling.ReasonInTransition, "one is on its way")
	for _, r := range []memory.Record{record(1, "v"), same} {
		l.Record(r)
		if e, _ := l.Explain(key("v")); e.Changed.Cycle != "1" || e.Changed.To != 1 || e.Changed.Cause.Reason != scaling.ReasonSteady {
			t.Errorf("after cycle %s: got %+v, want the change of cycle 1 and its cause", r.Cycle, e.Changed)
		}
	}
	l.Record(record(3, "v"))
	if e, _ := l.Explain(key("v")); e.Changed.Cycle != "3" || e.Changed.To != 3 {
		t.Errorf("got %+v, want the change of cycle 3", e.Changed)
	}
	l.Record(record(4))
	l.Record(record(5, "v"))
	if e, _ := l.Explain(key("v")); e.Changed.Cycle != "5" {
		t.Errorf("got %+v, want a variant that was away to have begun anew", e.Changed)
	}
}

func TestAgeOfAFallbackCountsFromOneInstant(t *testing.T) {
	minute := func(n int) time.Time { return start.Add(time.Duration(n) * time.Minute) }
	fallback := func(n scaling.Replicas) memory.Record {
		r := record(n, "v")
		r.Plan.Decisions[0].Fallback = true
		return r
	}
	tests := map[string]struct {
		restored   memory.Past
		analyzedAt time.Time
		records    []memory.Record
		want       time.Time
	}{
		"never decided":                 {want: time.Time{}},
		"never analyzed":                {records: []memory.Record{fallback(1), fallback(2), fallback(3)}, want: minute(1)},
		"no longer analyzed":            {records: []memory.Record{record(1, "v"), record(2, "v"), fallback(3), fallback(4)}, want: minute(2)},
		"analyzed again":                {records: []memory.Record{fallback(1), fallback(2), record(3, "v")}, want: minute(3)},
		"and held again":                {records: []memory.Record{fallback(1), record(2, "v"), fallback(3)}, want: minute(2)},
		"a fallback before a restart":   {restored: memory.Past{Desired: 2, DecidedAt: minute(-9)}, records: []memory.Record{fallback(1), fallback(2)}, want: minute(-9)},
		"an analysis before a restart":  {restored: memory.Past{Desired: 2, DecidedAt: minute(-9)}, analyzedAt: minute(-1), records: []memory.Record{fallback(1)}, want: minute(-1)},
		"restored, before a cycle":      {restored: memory.Past{Desired: 2, DecidedAt: minute(-9)}, want: minute(-9)},
		"deleted and made again":        {records: []memory.Record{fallback(1), record(2), fallback(3)}, want: minute(3)},
		"analyzed, deleted, made again": {records: []memory.Record{record(1, "v"), record(2), fallback(3)}, want: minute(3)},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			l := New()
			if tt.restored.Desired > 0 {
				l.Restore(key("v"), tt.restored, tt.analyzedAt)
			}
			for _, r := range tt.records {
				l.Record(r)
			}
			if got := l.AgesFrom(key("v")); !got.Equal(tt.want) {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestWhatWasDecidedHereIsNotReplacedByWhatWasRestored(t *testing.T) {
	l := New()
	old := memory.Past{Desired: 7, DecidedAt: start.Add(-time.Hour)}
	l.Restore(key("seen"), old, start.Add(-time.Minute))
	l.Restore(key("seen"), memory.Past{Desired: 9}, time.Time{})
	if diff := cmp.Diff(memory.History{key("seen"): old}, l.History()); diff != "" {
		t.Errorf("restored (-want +got):\n%s", diff)
	}
	l.Record(record(1, "seen"))
	l.Restore(key("seen"), old, start)
	l.Restore(key("new"), old, start)
	if diff := cmp.Diff(record(1, "seen").History, l.History()); diff != "" {
		t.Errorf("after a cycle (-want +got):\n%s", diff)
	}
}

func TestAReaderCannotChangeWhatIsRemembered(t *testing.T) {
	l := New()
	l.Record(record(1, "seen"))
	l.History()[key("seen")] = memory.Past{Desired: 99}
	if got := l.History()[key("seen")].Desired; got != 1 {
		t.Errorf("desired %d after a reader changed its copy, want 1", got)
	}
}

func TestNoticesThatAreNotReadBecomeOne(t *testing.T) {
	l := New()
	watch := l.Watch()
	for n := range 3 {
		l.Record(record(scaling.Replicas(n+1), "seen"))
	}
	<-watch
	select {
	case <-watch:
		t.Error("three cycles before the first look gave more than one notice")
	default:
	}
	l.Record(record(4, "seen"))
	<-watch
}

func TestExplainKnowsOnlyWhatACycleSaw(t *testing.T) {
	l := New()
	if _, ok := l.Explain(key("seen")); ok {
		t.Error("explained before any cycle")
	}
	r := record(1, "seen")
	r.Fleet.Variants = append(r.Fleet.Variants, scaling.Variant{Key: key("undecided"), Missing: "gone"})
	l.Record(r)
	if e, ok := l.Explain(key("seen")); !ok || !e.Decided || e.Decision.Target() != 1 {
		t.Errorf("explained %+v, %t", e, ok)
	}
	if e, ok := l.Explain(key("undecided")); !ok || e.Decided || e.Variant.Missing != "gone" {
		t.Errorf("explained %+v, %t", e, ok)
	}
	if _, ok := l.Explain(key("other")); ok {
		t.Error("explained a variant that no cycle saw")
	}
}

// seen is a Fit whose last look was n minutes after the start.
func seen(n int) memory.Fit {
	return memory.Fit{At: start.Add(time.Duration(n) * time.Minute), Over: memory.Sums{Samples: 1, X0: 1}}
}

func TestFitsAreRestoredBesideWhatWasDecided(t *testing.T) {
	m, other := scaling.ModelKey{Namespace: "ns", ID: "m"}, scaling.ModelKey{Namespace: "ns", ID: "other"}
	l := New()
	l.Restore(key("a"), memory.Past{Desired: 4, DecidedAt: start}, start)
	l.RestoreFits(map[scaling.ModelKey]memory.VariantFits{
		m:     {"a": seen(5), "b": seen(5)},
		other: {"a": seen(3), "b": seen(7)},
	})
	want := memory.History{
		key("a"): {Model: m, Desired: 4, DecidedAt: start, Fit: seen(5)},
		key("b"): {Model: other, Fit: seen(7)},
	}
	if diff := cmp.Diff(l.History(), want); diff != "" {
		t.Errorf("-got +want:\n%s", diff)
	}
	if diff := cmp.Diff(l.Fits(), map[scaling.ModelKey]memory.VariantFits{m: {"a": seen(5)}, other: {"b": seen(7)}}); diff != "" {
		t.Errorf("to be kept, -got +want:\n%s", diff)
	}
	r := record(9, "a")
	r.History[key("a")] = memory.Past{Model: m, Fit: seen(9)}
	l.Record(r)
	l.RestoreFits(map[scaling.ModelKey]memory.VariantFits{m: {"a": seen(20), "c": seen(20)}})
	if diff := cmp.Diff(l.Fits(), map[scaling.ModelKey]memory.VariantFits{m: {"a": seen(9)}}); diff != "" {
		t.Errorf("after a cycle, -got +want:\n%s", diff)
	}
	l.Record(record(10, "a"))
	if got := l.Fits(); len(got) != 0 {
		t.Errorf("nothing was seen of anything: got %v", got)
	}
}
