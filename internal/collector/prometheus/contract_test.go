package prometheus_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/collectortest"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
)

func TestSourceKeepsTheContract(t *testing.T) {
	collectortest.TestContract(t, collectortest.Backend{
		Answering: func(t *testing.T, running []query.Row) collector.Source {
			rows := make([]sample, len(running))
			for i, r := range running {
				rows[i] = sample{map[string]string{"namespace": r.Namespace, "pod": r.Pod, "model_name": r.Model}, r.Value}
			}
			return open(t, serve(t, evaluated(t, rows)).URL)
		},
		Failing: func(t *testing.T) collector.Source { return open(t, "http://"+refusing(t)) },
		Hanging: func(t *testing.T) collector.Source { return open(t, serve(t, hang).URL) },
	})
}

// evaluated returns a handler that answers with rows for the instant asked for, t0
// where none is.
func evaluated(t *testing.T, rows []sample) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		at := t0
		if asked := r.FormValue("time"); asked != "" {
			seconds, err := time.ParseDuration(asked + "s")
			if err != nil {
				t.Errorf("time=%s: %v", asked, err)
			}
			at = time.Unix(0, 0).Add(seconds)
		}
		answer(http.StatusOK, vectorAt(at, rows...))(w, r)
	}
}
