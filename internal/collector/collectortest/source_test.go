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
		Answering: func(_ *testing.T, running []query.Row) collector.Source {
			source := collectortest.New(t0)
			source.Answer(query.AskRunning, running...)
			return source
		},
		Failing: func(*testing.T) collector.Source {
			source := collectortest.New(t0)
			source.FailAll(errors.New("connection refused"))
			return source
		},
		Hanging: func(*testing.T) collector.Source {
			source := collectortest.New(t0)
			source.Hang(query.AskRunning)
			return source
		},
	})
}

func TestSourceRemembersWhatItWasAsked(t *testing.T) {
	source := collectortest.New(t0)
	for _, ask := range []query.Question{query.AskFlow, query.AskPages} {
		if _, err := source.Ask(t.Context(), query.Request{Ask: ask, At: t0}); err != nil {
			t.Fatal(err)
		}
	}
	if got := source.Asked(); len(got) != 2 || got[0] != query.AskPages || source.Calls()[0].Ask != query.AskFlow {
		t.Errorf("got %v of %v", got, source.Calls())
	}
	if source.Forget(); len(source.Calls()) != 0 {
		t.Error("a call was not forgotten")
	}
}
