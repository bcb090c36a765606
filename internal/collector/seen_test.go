package collector_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/collectortest"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
)

func TestSeenModelsAnswerWhatIsThereInstead(t *testing.T) {
	for _, tc := range []struct {
		name string
		rows [][2]string // namespace and model of pages
		want []string
	}{
		{"nothing anywhere", nil, nil},
		{"the model, on a pod that is not ours", [][2]string{{"serving", "m000"}, {"serving", "b"}}, nil},
		{"others in the namespace", [][2]string{{"serving", "b"}, {"serving", "a"}, {"serving", "b"}, {"zoo", "c"}}, []string{"a", "b"}},
		{"others elsewhere only", [][2]string{{"zoo", "m000"}, {"ark", "c"}}, []string{"ark/c", "zoo/m000"}},
		{"a page without a name", [][2]string{{"serving", ""}, {"zoo", "c"}}, []string{"zoo/c"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			source, fleet := collectortest.New(), collectortest.Fleet(t0, 1, 1)
			for i, r := range tc.rows {
				labels := append(collectortest.PodLabels(r[0], fmt.Sprintf("foreign-%d", i), r[1]), "stat", "at")
				source.Answer(query.LastScrape, collectortest.Row(float64(t0.Unix()), labels...))
			}
			if diff := cmp.Diff(tc.want, only(t, source, fleet).SeenModels); diff != "" {
				t.Errorf("seen (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSeenModelsAreBounded(t *testing.T) {
	source, fleet := collectortest.New(), collectortest.Fleet(t0, 1, 1)
	for i := range 30 {
		labels := append(collectortest.PodLabels("zoo", "p", fmt.Sprintf("model-%02d", i)), "stat", "at")
		source.Answer(query.LastScrape, collectortest.Row(float64(t0.Unix()), labels...))
	}
	if got := only(t, source, fleet).SeenModels; len(got) != 10 || got[9] != "zoo/model-09" {
		t.Errorf("got %v, want the first ten", got)
	}
}

func TestSeenModelsAreSilentWhileTheModelReports(t *testing.T) {
	source, fleet := collectortest.New(), collectortest.Fleet(t0, 2, 1)
	source.Serve(fleet, busy)
	for _, s := range collect(t, source, fleet) {
		if s.SeenModels != nil {
			t.Errorf("%s: got %v", s.Model, s.SeenModels)
		}
	}
}
