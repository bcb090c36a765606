package collector_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/collectortest"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
)

// foreign returns a page of a pod of no variant.
func foreign(namespace, model string, i int) query.Row {
	return collectortest.PodRow(query.PageTime, namespace, fmt.Sprintf("foreign-%d", i), model, scrapedAgo(0))
}

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
			source, fleet := collectortest.New(t0), collectortest.Fleet(t0, 1, 1)
			for i, r := range tc.rows {
				source.Answer(query.AskPages, foreign(r[0], r[1], i))
			}
			got := only(t, source, fleet)
			if diff := cmp.Diff(tc.want, got.SeenModels); diff != "" {
				t.Errorf("seen (-want +got):\n%s", diff)
			}
			if want := len(tc.want) > 0 && strings.Contains(tc.want[0], "/"); got.SeenElsewhere != want {
				t.Errorf("%v are said to be of other namespaces: %v", got.SeenModels, got.SeenElsewhere)
			}
		})
	}
}

func TestSeenModelsAreBounded(t *testing.T) {
	source, fleet := collectortest.New(t0), collectortest.Fleet(t0, 1, 1)
	for i := range 30 {
		source.Answer(query.AskPages, foreign("zoo", fmt.Sprintf("model-%02d", i), 0))
	}
	if got := only(t, source, fleet).SeenModels; len(got) != 10 || got[9] != "zoo/model-09" {
		t.Errorf("got %v, want the first ten", got)
	}
}

func TestPagesThatJoinNothingAreReported(t *testing.T) {
	const witness = "vllm:num_requests_running with "
	page := func(change ...func(*query.Row)) query.Row {
		return podRow(query.PageTime, scrapedAgo(0), append([]func(*query.Row){ofJob("vllm"), ofWitness(query.VLLM.Witness())}, change...)...)
	}
	for _, tc := range []struct {
		name string
		rows []query.Row
		want string
	}{
		{"none", nil, ""},
		{"no pod", []query.Row{page(ofPod(""))}, witness + `{job="vllm",namespace="serving",model_name="m000"} exists but has no label pod`},
		{"of one engine", []query.Row{page(ofPod(""), ofWitness(query.SGLang.Witness()))}, `sglang:num_running_reqs with {job="vllm",namespace="serving",model_name="m000"} exists but has no label pod`},
		{"a pod by its other name", []query.Row{page(ofPod("x"), func(r *query.Row) { r.ByPodName = true })}, `vllm:num_requests_running with {job="vllm",namespace="serving",pod_name="x",model_name="m000"} exists but names pod x, which is none of the model's live pods`},
		{"under a monitor's name", []query.Row{page(ofPod(""), ofWitness("kserve_vllm:num_requests_running"))}, `kserve_vllm:num_requests_running with {job="vllm",namespace="serving",model_name="m000"} exists but has no label pod`},
		{"no namespace", []query.Row{page(ofNamespace(""))}, witness + `{job="vllm",pod="m000-0",model_name="m000"} exists but has no label namespace`},
		{"no model", []query.Row{page(ofModel(""))}, witness + `{job="vllm",namespace="serving",pod="m000-0"} exists but has no label model_name`},
		{
			"a pod that is none of ours",
			[]query.Row{page(ofPod("y")), page(ofPod("x")), page(ofPod("z"))},
			witness + `{job="vllm",namespace="serving",pod="x",model_name="m000"} exists but names pod x, which is none of the model's live pods`,
		},
		{"what is worth telling most", []query.Row{page(ofPod("x")), page(ofPod("")), page(ofModel(""))}, witness + `{job="vllm",namespace="serving",model_name="m000"} exists but has no label pod`},
		{"a hostile job", []query.Row{page(ofPod(""), ofJob("a\"}\nb"))}, witness + `{job="a\"}\nb",namespace="serving",model_name="m000"} exists but has no label pod`},
		{"of another model", []query.Row{page(ofPod(""), ofModel("other"))}, ""},
		{"beside one that joins", []query.Row{page(ofPod("")), page()}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			source, fleet := collectortest.New(t0), collectortest.Fleet(t0, 1, 1)
			source.Answer(query.AskPages, tc.rows...)
			if got := only(t, source, fleet).Unjoined; got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

// TestAPodNamedInTwoLabelsMakesRatesUnknown: they count it twice.
func TestAPodNamedInTwoLabelsMakesRatesUnknown(t *testing.T) {
	for name, tc := range map[string]struct {
		pod  string
		by   bool
		want bool
	}{
		"by another job in another label": {"m000-0", true, true},
		"by another job in the same":      {"m000-0", false, false},
		"a pod that is gone":              {"m000-9", true, false},
	} {
		t.Run(name, func(t *testing.T) {
			page := busy
			page.WithoutGateway = true
			source, fleet := serving(1, 2, page)
			source.Answer(query.AskPages, podRow(query.PageTime, scrapedAgo(0), ofPod(tc.pod), ofJob("other"), func(r *query.Row) { r.ByPodName = tc.by }))
			got := only(t, source, fleet)
			if said := strings.HasPrefix(got.Unjoined, "pod m000-0 is named in the label pod by one scrape job and in pod_name by another"); said != tc.want {
				t.Errorf("got %q, want a word: %v", got.Unjoined, tc.want)
			}
			if got.Load.ArrivalRate.Known() == tc.want || got.Replicas[0].QueueLength != fresh(2) {
				t.Errorf("got arrivals of %v and a queue of %v", got.Load.ArrivalRate, got.Replicas[0].QueueLength)
			}
		})
	}
}

func TestAModelAtZeroDoesNotMissItsFormerPods(t *testing.T) {
	source, fleet := collectortest.New(t0), collectortest.Fleet(t0, 1, 0)
	source.Answer(query.AskPages, podRow(query.PageTime, scrapedAgo(0)))
	if got := only(t, source, fleet); got.Unjoined != "" || got.SeenModels != nil {
		t.Errorf("got %q, %v", got.Unjoined, got.SeenModels)
	}
}

func TestTheNameOfASeenModelIsBounded(t *testing.T) {
	for _, namespace := range []string{collectortest.Namespace, "zoo"} {
		source, fleet := collectortest.New(t0), collectortest.Fleet(t0, 1, 1)
		source.Answer(query.AskPages, foreign(namespace, strings.Repeat("x", 40_000), 0))
		if got := only(t, source, fleet).SeenModels; len(got) != 1 || len(got[0]) > 600 {
			t.Errorf("%s: got %d names, the first with %d bytes: a condition holds 32,768", namespace, len(got), len(got[0]))
		}
	}
}

func TestUnjoinedIsBounded(t *testing.T) {
	source, fleet := collectortest.New(t0), collectortest.Fleet(t0, 1, 1)
	source.Answer(query.AskPages, podRow(query.PageTime, scrapedAgo(0), ofJob(strings.Repeat("x", 4000)), ofPod("")))
	if got := only(t, source, fleet).Unjoined; len(got) > 600 || got == "" {
		t.Errorf("got %d bytes", len(got))
	}
}

func TestModelsThatReportAreSilentAboutOthers(t *testing.T) {
	source, fleet := serving(2, 1, busy)
	source.Answer(query.AskPages, podRow(query.PageTime, scrapedAgo(0), ofPod("gone")))
	for _, s := range collect(t, source, fleet) {
		if s.SeenModels != nil || s.Unjoined != "" {
			t.Errorf("%s: got %v, %q", s.Model, s.SeenModels, s.Unjoined)
		}
	}
}

// TestPodsOfNoVariantThatReportAreNamed: their requests are in the rates of the model.
func TestPodsOfNoVariantThatReportAreNamed(t *testing.T) {
	for name, tc := range map[string]struct {
		strangers int
		ago       time.Duration
		want      bool
	}{
		"as many as its own":              {2, 0, true},
		"fewer than its own":              {1, 0, false},
		"pods that ended before a scrape": {2, 20 * time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			source, fleet := serving(1, 2, busy)
			for i := range tc.strangers {
				source.Answer(query.AskPages, podRow(query.PageTime, scrapedAgo(tc.ago), ofPod(fmt.Sprintf("elsewhere-%d", i)), ofJob("vllm")))
			}
			if got := only(t, source, fleet).Unjoined; strings.Contains(got, "2 pods that no VariantAutoscaling of the model has report for it too, such as elsewhere-0") != tc.want || !tc.want && got != "" {
				t.Errorf("it says %q, want a word of the others: %t", got, tc.want)
			}
		})
	}
}
