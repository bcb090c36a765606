package explain

import (
	"testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

func TestAnObjectiveIsShownBesideWhatRequestsMeet(t *testing.T) {
	// Nine requests in ten take up to 500 ms, half of them up to 250 ms.
	buckets := scaling.Histogram{State: scaling.Fresh, Total: 10, Buckets: []scaling.Bucket{{Bound: 250, Rate: 5}, {Bound: 500, Rate: 9}}}
	load := scaling.Load{TTFT: scaling.Measured(300, scaling.Fresh), ITL: scaling.Measured(20, scaling.Aging), TTFTBuckets: buckets}
	gold := func(ttft, itl, percentile float64) Objective {
		return Objective{Objective: scaling.Objective{Class: "Gold", Priority: 2, TTFT: ttft, ITL: itl}, Row: "default", TTFTPercentile: percentile}
	}
	lost := gold(0, 24, 0)
	lost.Unfollowed = "silver is not there"
	tests := map[string]struct {
		o    Objective
		load scaling.Load
		want string
	}{
		"no class":                   {Objective{}, load, "none: no service class holds the model"},
		"no class, although named":   {Objective{Unfollowed: "gold is not there"}, load, "none: no service class holds the model; gold is not there"},
		"a class without objectives": {gold(0, 0, 0), load, "none of class Gold, priority 2, by default"},
		"percentile and mean": {
			gold(500, 24, 0.7), load,
			"TTFT 500 ms, the 70th percentile 375 now; ITL 24 ms, the mean 20 (aging) now; class Gold, priority 2, by default",
		},
		"a percentile in the first bucket": {
			gold(500, 0, 0.25), load,
			"TTFT 500 ms, the 25th percentile about 125 or less now; class Gold, priority 2, by default",
		},
		"a percentile beyond the last": {gold(500, 0, 0.95), load, "TTFT 500 ms, the 95th percentile at least 500 now; class Gold, priority 2, by default"},
		"no distribution": {
			gold(500, 0, 0.9),
			scaling.Load{TTFT: load.TTFT},
			"TTFT 500 ms, the 90th percentile unknown, the mean 300 now; class Gold, priority 2, by default",
		},
		"another class than the one named": {lost, load, "ITL 24 ms, the mean 20 (aging) now; class Gold, priority 2, by default; silver is not there"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := objective(tt.o, tt.load); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestTroubleOfAScalerIsShownWhateverTheDecisionIs(t *testing.T) {
	hpa := func(change func(*scaling.Scaler)) scaling.Scalers {
		s := scaling.Scaler{Kind: scaling.KindHPA, Name: "chat", Bounds: scaling.Bounds{Min: 1, Max: 5}}
		change(&s)
		return scaling.Scalers{Known: true, List: []scaling.Scaler{s}}
	}
	tests := map[string]struct {
		all  scaling.Scalers
		want string
	}{
		"nothing known": {scaling.Scalers{}, "not known"},
		"unreadable":    {scaling.Scalers{Fault: "forbidden"}, "not known: forbidden"},
		"none":          {scaling.Scalers{Known: true}, "none: no HorizontalPodAutoscaler and no ScaledObject scales the target"},
		"no trouble":    {hpa(func(s *scaling.Scaler) { s.Asks = 3 }), "HorizontalPodAutoscaler chat (min 1, max 5), last asked for 3"},
		"misread": {
			hpa(func(s *scaling.Scaler) { s.Misread = "it reads cpu" }),
			"HorizontalPodAutoscaler chat (min 1, max 5): HorizontalPodAutoscaler chat does not read the decision: it reads cpu",
		},
		"inactive": {
			hpa(func(s *scaling.Scaler) { s.Inactive.Reason = "FailedGetExternalMetric" }),
			"HorizontalPodAutoscaler chat (min 1, max 5): HorizontalPodAutoscaler chat does not read the decision. It says: FailedGetExternalMetric",
		},
		"paused": {
			hpa(func(s *scaling.Scaler) { s.Paused = true }),
			"HorizontalPodAutoscaler chat (min 1, max 5): " + ScalerPaused(scaling.Scaler{Kind: scaling.KindHPA, Name: "chat"}),
		},
		"unable": {
			hpa(func(s *scaling.Scaler) { s.Unable.Reason = "FailedGetScale" }),
			"HorizontalPodAutoscaler chat (min 1, max 5): " + Refused(scaling.Scaler{
				Kind: scaling.KindHPA, Name: "chat", Unable: scaling.Trouble{Reason: "FailedGetScale"},
			}),
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := scalers(ActuationBy(tt.all)); len(got) != 1 || got[0] != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}
