package memory

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

func TestWhatIsRememberedOfAModelIsTheLatestOfItsVariants(t *testing.T) {
	key := func(name string) scaling.VariantKey { return scaling.VariantKey{Namespace: "ns", Name: name} }
	variants := func(names ...string) (out []scaling.Variant) {
		for _, name := range names {
			out = append(out, scaling.Variant{Key: key(name)})
		}
		return out
	}
	earlier, later := noon, noon.Add(time.Minute)
	h := History{
		key("a"): {ModelPast: ModelPast{
			Informed: []Informed{{"queueing", later}, {"spare", earlier}}, Backlog: Backlog{Waiting: 3, At: later},
			Activity: Activity{At: earlier, Life: scaling.LifeActive}, Traffic: Traffic{Footprint: Footprint{At: later, Held: 1}}, Turns: Turns{Seen: earlier, Cost: 1},
		}},
		key("b"): {ModelPast: ModelPast{
			Informed: []Informed{{"spare", later}, {"tokens", earlier}}, Backlog: Backlog{Waiting: 9, At: earlier},
			Activity: Activity{At: later, Life: scaling.LifeIdle}, Traffic: Traffic{Footprint: Footprint{At: earlier, Held: 2}}, Turns: Turns{Seen: later, Cost: 2},
		}},
		key("c"): {ModelPast: ModelPast{Activity: Activity{At: later.Add(time.Hour)}}}, // of another model
	}
	want := ModelPast{
		Informed: []Informed{{"queueing", later}, {"spare", later}, {"tokens", earlier}}, Backlog: Backlog{Waiting: 3, At: later},
		Activity: Activity{At: later, Life: scaling.LifeIdle}, Traffic: Traffic{Footprint: Footprint{At: later, Held: 1}}, Turns: Turns{Seen: later, Cost: 2},
	}
	for _, names := range [][]string{{"a", "b", "new"}, {"new", "b", "a"}} {
		if diff := cmp.Diff(want, h.Model(variants(names...))); diff != "" {
			t.Errorf("%v (-want +got):\n%s", names, diff)
		}
	}
	if diff := cmp.Diff(ModelPast{}, h.Model(variants("new"))); diff != "" {
		t.Errorf("of a variant without a reading (-want +got):\n%s", diff)
	}
}

func TestOfTwoBacklogsThatWereSeenAtOnceTheWorseCounts(t *testing.T) {
	for name, tt := range map[string]struct{ a, b, want Backlog }{
		"the later":                   {Backlog{Waiting: 9, At: noon}, Backlog{Waiting: 1, At: noon.Add(1)}, Backlog{Waiting: 1, At: noon.Add(1)}},
		"of two as late, the longer":  {Backlog{Waiting: 1, At: noon}, Backlog{Waiting: 2, At: noon}, Backlog{Waiting: 2, At: noon}},
		"of two as long, not falling": {Backlog{Waiting: 1, At: noon, Falling: true}, Backlog{Waiting: 1, At: noon}, Backlog{Waiting: 1, At: noon}},
	} {
		if got, other := tt.a.latest(tt.b), tt.b.latest(tt.a); got != tt.want || other != tt.want {
			t.Errorf("%s: got %+v and %+v, want %+v", name, got, other, tt.want)
		}
	}
}
