package external

import (
	"math"
	"testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/metrics"
)

// HPA computes ceil(value / target x replicas) for a metric with target value 1
// (podautoscaler, GetExternalMetricReplicas).
func TestTheRatioBringsAnHPAToWhatWasDecided(t *testing.T) {
	for current := 1; current <= 300; current++ {
		for desired := 1; desired <= 300; desired++ {
			q, ok := quantity(Value{Desired: desired, Current: current, Observed: true}, metrics.DesiredRatio)
			if !ok {
				t.Fatalf("%d -> %d: no ratio", current, desired)
			}
			if got := int(math.Ceil(float64(q.MilliValue()) / 1000 * float64(current))); got != desired {
				t.Fatalf("%d -> %d: an HPA that reads %s asks for %d", current, desired, q.String(), got)
			}
		}
	}
}
