package watch

import (
	"strings"
	"testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

func TestARequestForAModelAtZeroIsNews(t *testing.T) {
	m := scaling.ModelKey{Namespace: "ns", ID: "m"}
	fresh := func(v float64) scaling.Reading { return scaling.Measured(v, scaling.Fresh) }
	for name, tt := range map[string]struct {
		targets []scaling.Replicas // decided targets of its variants
		load    scaling.Load
		want    string // part of the reason, "" for none
	}{
		"one waits at the gateway":   {[]scaling.Replicas{0, 0}, scaling.Load{GatewayQueue: fresh(2)}, "2 requests wait"},
		"one arrives":                {[]scaling.Replicas{0}, scaling.Load{ArrivalRate: fresh(0.5)}, "0.5 requests/s arrive"},
		"none does":                  {[]scaling.Replicas{0}, scaling.Load{GatewayQueue: fresh(0), ArrivalRate: fresh(0)}, ""},
		"nothing is known":           {[]scaling.Replicas{0}, scaling.Load{GatewayQueue: scaling.Reading{Value: 3, State: scaling.Stale}}, ""},
		"a replica is ordered":       {[]scaling.Replicas{0, 1}, scaling.Load{GatewayQueue: fresh(2)}, ""},
		"a model without a decision": {nil, scaling.Load{GatewayQueue: fresh(2)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var record memory.Record
			for _, to := range tt.targets {
				record.Plan.Decisions = append(record.Plan.Decisions, scaling.Decision{Model: m}.Then(scaling.StageRetention, to, scaling.ReasonIdle, ""))
			}
			unknown := func(memory.Record, scaling.Snapshot) []scaling.Analysis { return []scaling.Analysis{{}} }
			got := Look{Last: record, Snapshots: []scaling.Snapshot{{Model: m, Load: tt.load}}}.Reason(unknown)
			if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
				t.Errorf("got %q, want %q in it", got, tt.want)
			}
		})
	}
}
