package scrape

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
)

// quiet answers query.AskRecent as of noon.
func (b *book) quiet(span time.Duration) []query.Row {
	b.t.Helper()
	v, err := b.store.view()
	if err != nil {
		b.t.Fatal(err)
	}
	return v.answer(query.Request{Ask: query.AskRecent, Span: span, Models: []string{"m"}}, moment{at: noon, window: time.Minute})
}

func TestQuietBeginsWithTheLastPageThatShowsARequest(t *testing.T) {
	type look struct {
		before float64 // seconds
		text   string
	}
	idle := func(before float64) look { return look{before, vllmPage(0, 0, 0, 100)} }
	// Pages are kept for less than three minutes; what they showed is for longer.
	long := func(first look) []look {
		all := []look{first}
		for before := first.before - 15; before >= 0; before -= 15 {
			all = append(all, idle(before))
		}
		return all
	}
	for name, tt := range map[string]struct {
		looks []look
		want  float64 // seconds before noon
	}{
		"watched since":              {long(idle(900)), 900},
		"one ran":                    {long(look{900, vllmPage(1, 0, 0, 100)}), 900},
		"one ran, later":             {append(long(idle(900)), look{0, vllmPage(1, 0, 0, 100)}), 0},
		"one waited":                 {[]look{idle(60), {45, vllmPage(0, 1, 0, 100)}, idle(30), idle(15)}, 45},
		"one was completed":          {[]look{{60, vllmPage(0, 0, 0, 99)}, idle(45), idle(30)}, 45},
		"an engine that began again": {[]look{idle(60), {45, vllmPage(0, 0, 0, 0)}, {30, vllmPage(0, 0, 0, 0)}}, 45},
		"not looked for a while":     {[]look{idle(300), idle(285), idle(150), idle(135)}, 150},
		"a scrape or two failed":     {[]look{idle(300), idle(255), idle(210)}, 300},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBook(t)
			for _, l := range tt.looks {
				b.page(servingPod, "a", l.before, l.text)
			}
			same(t, b.quiet(time.Hour), query.Row{Quantity: query.NoRequestSince, Namespace: "llm", Model: "m", Value: unixSeconds(ago(tt.want))})
		})
	}
}

func TestQuietIsThatOfAllPodsAndNoLongerThanAsked(t *testing.T) {
	b := newBook(t)
	row := func(before float64) query.Row {
		return query.Row{Quantity: query.NoRequestSince, Namespace: "llm", Model: "m", Value: unixSeconds(ago(before))}
	}
	for before := 300.0; before >= 0; before -= 15 {
		b.page(servingPod, "a", before, vllmPage(0, 0, 0, 100))
	}
	same(t, b.quiet(2*time.Minute), row(120))
	b.page(servingPod, "b", 60, vllmPage(0, 0, 0, 7)) // new
	same(t, b.quiet(2*time.Minute), row(60))
	b.page(servingPod, "b", 15, vllmPage(1, 0, 0, 7)) // and busy, and gone
	b.store.retain(servingPod, []Target{{Namespace: "llm", Pod: "a"}})
	same(t, b.quiet(2*time.Minute), row(15))
	b.store.retain(servingPod, nil)
	same(t, b.quiet(2*time.Minute)) // of a model without a page nothing is said
}

// TestPickersSayWhetherTheirPoolIsQuiet: where they speak for the pods.
func TestPickersSayWhetherTheirPoolIsQuiet(t *testing.T) {
	picker := func(requests string) string {
		return "# TYPE llm_d_epp_request_total counter\nllm_d_epp_request_total{model_name=\"m\",target_model_name=\"m\"} " + requests + "\n"
	}
	b := newBook(t)
	b.store.speakFor([]Target{{Namespace: "llm", Pod: "a", Model: "m"}, {Namespace: "elsewhere", Pod: "b", Model: "m"}})
	b.page(endpointPicker, "epp", 60, picker("5"))
	b.page(endpointPicker, "epp", 45, picker("6"))
	b.page(endpointPicker, "epp", 30, picker("6"))
	same(t, b.quiet(time.Hour), query.Row{Quantity: query.NoRequestSince, Namespace: "llm", Model: "m", Value: unixSeconds(ago(45))})
}

func TestModelsOfPodsThatAreGoneAreBoundedByNamespace(t *testing.T) {
	s := newStore(Options{Name: "pods", Interval: 5 * time.Second})
	page := func(namespace, url string, at time.Time, models ...string) {
		target := Target{Namespace: namespace, Pod: "p", URL: url}
		s.retain(servingPod, []Target{target})
		var points []point
		for _, m := range models {
			points = append(points, point{"vllm:num_requests_running", []label{{"model_name", m}}, 1})
		}
		s.add(task{servingPod, target}, at, points)
	}
	page("good", "a", noon, "chat")
	for round := range 20 { // an annotation is edited each time
		models := make([]string, 1000)
		for i := range models {
			models[i] = fmt.Sprintf("%096d-%03d-%05d", 0, round, i)
		}
		page("evil", fmt.Sprint(round), noon.Add(time.Duration(round+1)*5*time.Second), models...)
	}
	s.retain(servingPod, nil)
	weight, last := 0, 0
	for k := range s.gone {
		if k.namespace == "evil" {
			weight += goneEntry + len(k.model)
			if strings.Contains(k.model, "-019-") {
				last++
			}
		}
	}
	if weight > mostGone || last == 0 || last != len(s.gone)-1 {
		t.Errorf("%d bytes of %d models are remembered, %d of the last page; want at most %d bytes, the latest", weight, len(s.gone), last, mostGone)
	}
	if _, ok := s.gone[modelKey{namespace: "good", model: "chat"}]; !ok {
		t.Error("a model of another namespace is forgotten")
	}
}
