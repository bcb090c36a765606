package scrape

import (
	"math"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
)

// TestPagesAreReadHoweverTheyAreWritten: the text format and OpenMetrics, with what engines and
// what stands before them leave out or say twice.
func TestPagesAreReadHoweverTheyAreWritten(t *testing.T) {
	one := func(name string, value float64, labels ...label) []point { return []point{{name, labels, value}} }
	m, bound := label{"model_name", "m"}, func(le string) []label { return []label{{"le", le}, {"model_name", "m"}} }
	const running, bucket = "vllm:num_requests_running", "vllm:time_to_first_token_seconds_bucket"
	for name, tc := range map[string]struct {
		page string
		want []point
	}{
		"a type twice": {
			"# TYPE vllm:num_requests_running gauge\n# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running{model_name=\"m\"} 3\n",
			one(running, 3, m),
		},
		"a type after its samples": {"vllm:num_requests_running{model_name=\"m\"} 3\n# TYPE vllm:num_requests_running gauge\n", one(running, 3, m)},
		"two types": {
			"# TYPE vllm:num_requests_running gauge\n# TYPE vllm:num_requests_running counter\nvllm:num_requests_running{model_name=\"m\"} 3\n",
			one(running, 3, m),
		},
		"no type":                 {"vllm:num_requests_running{model_name=\"m\"} 3\n", one(running, 3, m)},
		"no label":                {"vllm:num_requests_running 3\n", one(running, 3)},
		"no labels in braces":     {"vllm:num_requests_running{} 3\n", one(running, 3)},
		"a comma behind the last": {"vllm:num_requests_running{model_name=\"m\",} 3\n", one(running, 3, m)},
		"an empty label":          {"vllm:num_requests_running{model_name=\"m\",engine=\"\"} 3\n", one(running, 3, m)},
		"blanks":                  {" vllm:num_requests_running {model_name=\"m\"} \t 3 \r\n", one(running, 3, m)},
		"a timestamp":             {"vllm:num_requests_running{model_name=\"m\"} 3 1700000000000\n", one(running, 3, m)},
		"OpenMetrics' timestamp":  {"vllm:num_requests_running{model_name=\"m\"} 3.0 1700000000.123\n# EOF\n", one(running, 3, m)},
		"OpenMetrics' counter": {
			"# TYPE vllm:generation_tokens counter\n# UNIT vllm:generation_tokens tokens\nvllm:generation_tokens_total{model_name=\"m\"} 7.0\nvllm:generation_tokens_created{model_name=\"m\"} 1.7e9\n# EOF\n",
			one("vllm:generation_tokens_total", 7, m),
		},
		"a counter without suffix": {"vllm:generation_tokens{model_name=\"m\"} 7\n", one("vllm:generation_tokens", 7, m)},
		"an exemplar":              {bucket + "{le=\"1.0\",model_name=\"m\"} 5 # {trace_id=\"a } b\"} 0.67 1700000000.1\n", []point{{bucket, bound("1"), 5}}},
		"a bound as 1":             {bucket + "{le=\"1\",model_name=\"m\"} 5\n", []point{{bucket, bound("1"), 5}}},
		"a bound as 1e+03":         {bucket + "{le=\"1e+03\",model_name=\"m\"} 5\n", []point{{bucket, bound("1000"), 5}}},
		"a bound as Inf":           {bucket + "{le=\"Inf\",model_name=\"m\"} 5\n", []point{{bucket, bound("+Inf"), 5}}},
		"a bound that is none":     {bucket + "{le=\"x\",model_name=\"m\"} 5\n", []point{{bucket, bound("x"), 5}}},
		"a brace in a label":       {"vllm:num_requests_running{model_name=\"a}\\\" 1 {\"} 3 # {} 1\n", one(running, 3, label{"model_name", "a}\" 1 {"})},
		"no number":                {"vllm:num_requests_running{model_name=\"m\"} NaN\n", one(running, math.NaN(), m)},
		"endless":                  {"vllm:num_requests_running{model_name=\"m\"} +Inf\n", one(running, math.Inf(1), m)},
		"endless below":            {"vllm:num_requests_running{model_name=\"m\"} -Inf\n", one(running, math.Inf(-1), m)},
		"in powers of ten":         {"vllm:num_requests_running{model_name=\"m\"} 5.453083e+06\n", one(running, 5453083, m)},
		"a name that begins alike": {"vllm:num_requests_waiting_by_reason{reason=\"capacity\"} 3\nvllm:num_requests_swapped{model_name=\"m\"} 1\n", nil},
		"nothing":                  {"", nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := readPage(tc.page, wantedOfPods(nil), 1<<16)
			if err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(tc.want, got, gocmp.AllowUnexported(point{}, label{}), cmpopts.EquateNaNs(), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("points (-want +got):\n%s", diff)
			}
		})
	}
	for name, page := range map[string]string{
		"no value":        "vllm:num_requests_running{model_name=\"m\"}\n",
		"no number":       "vllm:num_requests_running{model_name=\"m\"} many\n",
		"an open label":   "vllm:num_requests_running{model_name=\"m} 3\n",
		"an open bracket": "vllm:num_requests_running{model_name=\"m\" 3\n",
	} {
		if got, err := readPage(page, wantedOfPods(nil), 1<<16); err == nil {
			t.Errorf("%s: got %v, want an error", name, got)
		}
	}
}

// TestOfASeriesThatStandsTwiceTheFirstCounts, as it does for Prometheus.
func TestOfASeriesThatStandsTwiceTheFirstCounts(t *testing.T) {
	b := newBook(t)
	const l = "vllm:num_requests_running{model_name=\"m\"} "
	b.page(servingPod, "a", 0, l+"3\n"+l+"4\n")
	same(t, b.ask(query.AskRunning), query.Row{Quantity: query.Running, Namespace: "llm", Pod: "a", Model: "m", Value: 3})
}
