package scaling

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTogetherEachRequestCountsOnce(t *testing.T) {
	decode := Load{
		ArrivalRate: Measured(5, Fresh), InputTokens: Measured(900, Fresh), OutputTokens: Measured(200, Fresh),
		TTFT: Measured(80, Fresh), ITL: Measured(30, Fresh), ITLBuckets: Histogram{State: Fresh, Total: 3},
	}
	prefill := Load{ArrivalRate: Measured(4, Fresh), TTFT: Measured(300, Fresh)}
	twice := Load{ArrivalRate: Measured(9, Fresh), TTFT: Measured(170, Fresh), GatewayQueue: Measured(7, Fresh), TTFTBuckets: Histogram{State: Fresh, Total: 9}}
	got := Together(twice, decode, prefill, Aging)
	want := Load{
		ArrivalRate: Measured(5, Aging), InputTokens: Measured(900, Aging), OutputTokens: Measured(200, Aging),
		TTFT: Measured(380, Aging), ITL: Measured(30, Aging), GatewayQueue: Measured(7, Fresh),
		TTFTBuckets: Histogram{State: NotApplicable}, ITLBuckets: Histogram{State: Fresh, Total: 3},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, tt := range []struct {
		name    string
		prefill Reading
		want    Reading
	}{
		{"of decode alone where prefill gets no request", Reading{State: NotApplicable}, Measured(80, Fresh)},
		{"not known where prefill is silent", Reading{State: Stale}, Reading{State: Stale}},
	} {
		if got := Together(twice, decode, Load{TTFT: tt.prefill}, Fresh).TTFT; got != tt.want {
			t.Errorf("TTFT %s: got %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

func TestAPartIsCorrectedInProportion(t *testing.T) {
	for _, tt := range []struct {
		name               string
		part, from, to, is Reading
	}{
		{"as much as the whole", Measured(2, Fresh), Measured(4, Fresh), Measured(6, Aging), Measured(3, Aging)},
		{"not at all where the whole is as it was", Measured(2, Fresh), Measured(4, Fresh), Measured(4, Fresh), Measured(2, Fresh)},
		{"not at all where nothing was", Measured(2, Fresh), Measured(0, Fresh), Measured(6, Fresh), Measured(2, Fresh)},
		{"no further than to the whole", Measured(15, Fresh), Measured(3, Fresh), Measured(20, Fresh), Measured(20, Fresh)},
		{"not at all where it is more than the whole", Measured(25, Fresh), Measured(3, Fresh), Measured(20, Fresh), Measured(25, Fresh)},
		{"not at all where it is not known", Reading{State: Stale}, Measured(4, Fresh), Measured(6, Fresh), Reading{State: Stale}},
	} {
		if got := tt.part.InProportion(tt.from, tt.to); got != tt.is {
			t.Errorf("%s: got %+v, want %+v", tt.name, got, tt.is)
		}
	}
}

func TestWithoutTheLeastValueTheRestStays(t *testing.T) {
	h := Histogram{State: Fresh, Total: 10, Buckets: []Bucket{{Bound: 1, Rate: 4}, {Bound: 2, Rate: 9}}}
	want := Histogram{State: Fresh, Total: 7, Buckets: []Bucket{{Bound: 1, Rate: 1}, {Bound: 2, Rate: 6}}}
	if diff := cmp.Diff(want, h.Without(3)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if stale := (Histogram{State: Stale}); !cmp.Equal(stale.Without(3), stale) {
		t.Errorf("got %+v of a stale histogram, want it unchanged", stale.Without(3))
	}
}
