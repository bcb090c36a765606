package subresource

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

func TestAStartThatIsCutBackIsRepeatedOnce(t *testing.T) {
	// step runs a cycle that finds the replicas of another scaler, and decides.
	type step struct {
		second            int
		replicas, desired scaling.Replicas
	}
	slow := func(v *scaling.Variant) { v.StartUp = 10 * time.Minute }
	usual := func(*scaling.Variant) {}
	tests := map[string]struct {
		steps   []step
		variant func(*scaling.Variant)
		asks    scaling.Actuation
		most    scaling.Replicas // of the HPA
		want    []int32
	}{
		"once":                          {[]step{{0, 0, 5}, {5, 1, 5}, {20, 1, 5}}, usual, "zero", 9, []int32{5, 5}},
		"not while it stays":            {[]step{{0, 0, 5}, {5, 5, 5}, {20, 7, 7}}, usual, "zero", 9, []int32{5}},
		"to no more than was started":   {[]step{{0, 0, 5}, {5, 1, 8}}, usual, "zero", 9, []int32{5, 5}},
		"to no more than an HPA leaves": {[]step{{0, 0, 5}, {5, 1, 5}, {20, 3, 5}}, usual, "zero", 3, []int32{3, 3}},
		"not below a lower decision":    {[]step{{0, 0, 5}, {5, 1, 4}, {6, 1, 5}}, usual, "zero", 9, []int32{5}},
		"not after the start":           {[]step{{0, 0, 5}, {61, 1, 5}}, usual, "zero", 9, []int32{5}},
		"in a start that takes longer":  {[]step{{0, 0, 5}, {61, 1, 5}}, slow, "zero", 9, []int32{5, 5}},
		"once for each start":           {[]step{{0, 0, 5}, {5, 1, 5}, {20, 5, 0}, {30, 0, 4}, {35, 2, 4}}, usual, "zero", 9, []int32{5, 5, 0, 4, 4}},
		"not what another started":      {[]step{{0, 1, 5}, {5, 1, 5}}, usual, "zero", 9, nil},
		"not where another does it all": {[]step{{0, 0, 5}, {5, 1, 5}}, usual, "metrics", 9, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(tt.asks, 0)
			w.scalers.List = []scaling.Scaler{{Kind: scaling.KindHPA, Name: "h", Bounds: scaling.Bounds{Min: 1, Max: tt.most}}}
			h := w.hand()
			for _, s := range tt.steps {
				w.replicas = int32(s.replicas)
				h.Carry(t.Context(), at(s.second, record(s.replicas, s.desired, tt.variant)))
			}
			if diff := cmp.Diff(tt.want, w.sets); diff != "" {
				t.Errorf("scales set (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAStartIsNotRepeatedWhenTheHPAWasFaster(t *testing.T) {
	w := newWorld("zero", 0)
	w.scalers.List = []scaling.Scaler{{Kind: scaling.KindHPA, Name: "h", Bounds: scaling.Bounds{Min: 1, Max: 9}}}
	h := w.hand()
	h.Carry(t.Context(), at(0, record(0, 5)))
	w.replicas = 6 // by now
	h.Carry(t.Context(), at(5, record(1, 5)))
	if diff := cmp.Diff([]int32{5}, w.sets); diff != "" {
		t.Errorf("scales set (-want +got):\n%s", diff)
	}
}

func TestAStartIsRepeatedOnlyAsItWouldBeBegunNow(t *testing.T) {
	hpa := func(least, most scaling.Replicas) []scaling.Scaler {
		return []scaling.Scaler{{Kind: scaling.KindHPA, Name: "h", Bounds: scaling.Bounds{Min: least, Max: most}}}
	}
	by := func(list []scaling.Scaler) scaling.Scalers {
		return scaling.Scalers{Own: scaling.ActuationZero, Known: true, List: list}
	}
	tests := map[string]struct {
		by      scaling.Scalers
		current scaling.Replicas
		want    scaling.Replicas
	}{
		"cut back":                        {by(hpa(1, 9)), 1, 5},
		"whole":                           {by(hpa(1, 9)), 5, 0},
		"grown":                           {by(hpa(1, 9)), 6, 0},
		"at zero":                         {by(hpa(1, 9)), 0, 0}, // another start, not a repetition
		"the HPA leaves less by now":      {by(hpa(1, 3)), 1, 3},
		"the HPA starts by itself by now": {by(hpa(0, 9)), 1, 0},
		"others are not known":            {scaling.Scalers{Own: scaling.ActuationZero}, 1, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := starts{keyV: {until: now.Add(time.Minute), to: 5}}
			o := order{variant: scaling.Variant{Key: keyV, Replicas: scaling.ReplicaCounts{Current: tt.current}}, desired: 5}
			if got := s.repeat(o, tt.by); got != tt.want {
				t.Errorf("got %d replicas, want %d", got, tt.want)
			}
		})
	}
}
