package memory

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// fill sets every field within v: times to at, numbers to 1, lists to one element.
func fill(v reflect.Value, at time.Time) {
	switch {
	case v.Type() == reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(at))
	case v.Kind() == reflect.Struct:
		for _, value := range v.Fields() {
			fill(value, at)
		}
	case v.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), at)
	case v.CanInt():
		v.SetInt(1)
	case v.CanFloat():
		v.SetFloat(1)
	}
}

// later returns the paths of the times in v that are after now.
func later(v reflect.Value, path string, now time.Time) []string {
	var out []string
	switch {
	case v.Type() == reflect.TypeFor[time.Time]():
		if v.Interface().(time.Time).After(now) {
			out = append(out, path)
		}
	case v.Kind() == reflect.Struct:
		for field, value := range v.Fields() {
			out = append(out, later(value, path+"."+field.Name, now)...)
		}
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			out = append(out, later(v.Index(i), fmt.Sprintf("%s[%d]", path, i), now)...)
		}
	}
	return out
}

// TestNothingIsRememberedOfTheFuture fails for a new time in Past that Past.At does not handle.
func TestNothingIsRememberedOfTheFuture(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	var p Past
	fill(reflect.ValueOf(&p).Elem(), now.Add(time.Hour))
	before := fmt.Sprintf("%+v", p)
	if found := later(reflect.ValueOf(p.At(now)), "Past", now); len(found) > 0 {
		t.Errorf("an hour after the clock was set back an hour, these are still of the future: %v", found)
	}
	if after := fmt.Sprintf("%+v", p); after != before {
		t.Errorf("the Past itself was changed:\n%s\nwas\n%s", after, before)
	}
}

func TestWhatIsNotOfTheFutureStays(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for _, at := range []time.Time{{}, now.Add(-time.Hour), now} {
		var p Past
		fill(reflect.ValueOf(&p).Elem(), at)
		if diff := cmp.Diff(p, p.At(now)); diff != "" {
			t.Errorf("remembered at %s (-want +got):\n%s", at, diff)
		}
	}
}

func TestWhatAClockSetBackLeaves(t *testing.T) {
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	minutes := func(n int) time.Time { return noon.Add(time.Duration(n) * time.Minute) }
	instant := noon.Add(-time.Nanosecond)
	for name, tt := range map[string]struct{ past, want Past }{
		"a number that was wanted until later was wanted until now": {
			Past{Wants: Wants{Most: []Want{{9, minutes(-5)}, {7, minutes(50)}, {Replicas: 4}}, Least: []Want{{2, minutes(50)}, {Replicas: 4}}}},
			Past{Wants: Wants{Most: []Want{{9, minutes(-5)}, {7, instant}, {Replicas: 4}}, Least: []Want{{2, instant}, {Replicas: 4}}}},
		},
		"a quiet that ends later ends now": {
			Past{ModelPast: ModelPast{Activity: Activity{At: minutes(40), Life: scaling.LifeIdle, IdleSince: minutes(-3), Until: minutes(40)}}},
			Past{ModelPast: ModelPast{Activity: Activity{At: instant, Life: scaling.LifeIdle, IdleSince: minutes(-3), Until: instant}}},
		},
		"one that begins later begins anew": {
			Past{ModelPast: ModelPast{Activity: Activity{At: minutes(40), Life: scaling.LifeIdle, IdleSince: minutes(20), Until: minutes(40)}}},
			Past{ModelPast: ModelPast{Activity: Activity{At: instant, Life: scaling.LifeIdle}}},
		},
		"arrivals of which one is later tell nothing of how far they lie apart": {
			Past{ModelPast: ModelPast{Traffic: Traffic{Arrivals: Arrivals{{At: minutes(-1), Rate: 3}, {At: minutes(40), Rate: 9}}}}}, Past{},
		},
		"an order waits anew": {Past{Desired: 4, Change: 2, DecidedAt: minutes(40), ProgressAt: minutes(41), Gap: 2}, Past{Desired: 4, Change: 2, DecidedAt: instant, ProgressAt: instant, Gap: 2}},
	} {
		if diff := cmp.Diff(tt.want, tt.past.At(noon)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if instants := (Past{ModelPast: ModelPast{Informed: []Informed{{"a", minutes(-9)}, {"b", minutes(9)}}}}).At(noon).Informed; !slices.Equal(instants, []Informed{{"a", minutes(-9)}, {"b", instant}}) {
		t.Errorf("informed: %v", instants)
	}
}
