package collectortest_test

import (
	"errors"
	"testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/collectortest"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
)

func TestSourceKeepsTheContract(t *testing.T) {
	collectortest.TestContract(t, collectortest.Backend{
		Answering: func(_ *testing.T, rows []collector.Sample) collector.Source {
			s := collectortest.New()
			for _, q := range query.All() {
				s.Answer(q, rows...)
			}
			return s
		},
		Failing: func(*testing.T) collector.Source {
			s := collectortest.New()
			s.FailAll(errors.New("boom"))
			return s
		},
		Hanging: func(*testing.T) collector.Source {
			s := collectortest.New()
			s.Hang(query.Running)
			return s
		},
	})
}

func TestSourceRefusesWhatIsNotInTheCatalogue(t *testing.T) {
	if _, err := collectortest.New().Query(t.Context(), "up", collectortest.Fleet(t0, 1, 1).At); err == nil {
		t.Error("got no error for an expression that no quantity has")
	}
}
