package scrape

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/budget"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
)

// seriesOf returns so many series of one metric.
func seriesOf(n int) []point {
	points := make([]point, n)
	for i := range points {
		points[i] = point{"vllm:num_requests_running", []label{{"model_name", fmt.Sprint("m", i)}}, 1}
	}
	return points
}

// podsOf returns the targets of so many pods of a namespace.
func podsOf(namespace string, n int) []Target {
	targets := make([]Target, n)
	for i := range targets {
		targets[i] = Target{Namespace: namespace, Pod: fmt.Sprint("pod-", i)}
	}
	return targets
}

// TestManyPodsOfOneNamespaceTakeNoPagesFromAnother: each of them keeps less than the pod
// of the other namespace, all together three times what may be kept.
func TestManyPodsOfOneNamespaceTakeNoPagesFromAnother(t *testing.T) {
	s := newStore(Options{Name: "pods", Interval: 5 * time.Second, Limits: budget.Limits{Series: 1 << 20}})
	good, many := podsOf("good", 1), podsOf("many", 500)
	s.retain(servingPod, append(good, many...))
	s.add(task{servingPod, good[0]}, ago(10), seriesOf(1100))
	page := seriesOf(1000)
	for _, target := range many {
		s.add(task{servingPod, target}, ago(5), page)
	}
	if h := s.pods[good[0]]; len(h.pages) != 1 || h.cause != nil {
		t.Errorf("of the only pod of the other namespace %d pages are kept (%v), want 1", len(h.pages), h.cause)
	}
	if got, most := s.shares["many"].excess(), budget.DefaultLimits().PageBytes; got > most || got < most/2 {
		t.Errorf("its pods keep %d bytes beside %d for each, want at most %d and at least half of that", got, keptForEach, most)
	}
	if got := s.leftOut(noon)[budget.PageBytes]; got["many"] == 0 || len(got) != 1 {
		t.Errorf("pages are left out of %v, want of namespace many alone", got)
	}
}

func TestManyNamespacesTakeNoPagesFromOneThatKeepsLess(t *testing.T) {
	s := newStore(Options{Name: "pods", Interval: 5 * time.Second, Limits: budget.Limits{PageBytes: 1 << 20}})
	good := podsOf("good", 1)
	all := good
	for i := range 10 {
		all = append(all, podsOf(fmt.Sprint("n", i), 5)...)
	}
	s.retain(servingPod, all)
	page := seriesOf(1000)
	for _, target := range all {
		s.add(task{servingPod, target}, ago(5), page)
	}
	if most := fullShares<<20 + keptForEach*len(all); s.weight > most {
		t.Errorf("all pages take %d bytes, want at most %d", s.weight, most)
	}
	if h := s.pods[good[0]]; len(h.pages) != 1 {
		t.Errorf("of the namespace with one pod %d pages are kept, want 1", len(h.pages))
	}
}

func TestANamespaceKeepsSoManySeriesAndThoseThatWereThere(t *testing.T) {
	s := newStore(Options{Name: "pods", Interval: 5 * time.Second, Limits: budget.Limits{Series: 250}})
	pods, other := podsOf("many", 3), podsOf("other", 1)
	s.retain(servingPod, append(pods, other...))
	for round := range 3 {
		for _, target := range append(pods, other...) {
			s.add(task{servingPod, target}, ago(float64(30-5*round)), seriesOf(seriesForEach+100))
		}
	}
	var kept []int
	for _, target := range append(pods, other...) {
		kept = append(kept, len(s.pods[target].pages))
	}
	if diff := gocmp.Diff([]int{3, 3, 0, 3}, kept); diff != "" {
		t.Errorf("pages of each pod (-want +got):\n%s", diff)
	}
	if cause := s.pods[pods[2]].cause; !errors.Is(cause, errOverBudget) || !strings.Contains(cause.Error(), "more than 250 series") {
		t.Errorf("the cause is %v, want the limit of series", cause)
	}
	if diff := gocmp.Diff(map[string]int{"many": 1}, s.leftOut(noon)[budget.Series]); diff != "" {
		t.Errorf("left out (-want +got):\n%s", diff)
	}
	s.retain(servingPod, append(podsOf("many", 3)[1:], other...)) // the first is gone
	s.add(task{servingPod, pods[2]}, noon, seriesOf(seriesForEach+100))
	if h := s.pods[pods[2]]; len(h.pages) != 1 || len(s.leftOut(noon)[budget.Series]) != 0 {
		t.Errorf("with room again %d pages are kept and %v are left out", len(h.pages), s.leftOut(noon))
	}
}

// TestPagesBeyondABudgetAreNotHeldAndAreReadMoreRarely: each of them has series of its own,
// and takes the whole budget.
func TestPagesBeyondABudgetAreNotHeldAndAreReadMoreRarely(t *testing.T) {
	for what, limits := range map[budget.What]budget.Limits{budget.PageBytes: {PageBytes: 1 << 20}, budget.Series: {Series: 1}} {
		t.Run(string(what), func(t *testing.T) {
			s := newStore(Options{Name: "pods", Interval: 5 * time.Second, Limits: limits})
			many := podsOf("many", 40)
			s.retain(servingPod, many)
			reads := 0
			for round := range 40 {
				for _, target := range many {
					if !s.take(task{servingPod, target}, round) {
						continue
					}
					reads++
					page := seriesOf(4000)
					for i := range page {
						page[i].labels[0].value += target.Pod
					}
					s.add(task{servingPod, target}, ago(float64(5*(40-round))), page)
					s.release(task{servingPod, target})
					if held := len(s.layouts.known); held > 8 {
						t.Fatalf("round %d: %d layouts are held, want those of the pages that are kept, at most 8", round, held)
					}
				}
			}
			if most := 40 * 40 / 3; reads > most {
				t.Errorf("pages were read %d times in 40 rounds, want at most %d", reads, most)
			}
		})
	}
}

// TestPagesOfPodsThatComeAndGoLeaveLittle edits what a pod's page is, each time with
// models of other names: 20 edits left 115 MB.
func TestPagesOfPodsThatComeAndGoLeaveLittle(t *testing.T) {
	s := newStore(Options{Name: "pods", Interval: 5 * time.Second})
	for round := range 20 {
		target := Target{Namespace: "evil", Pod: "bad", URL: fmt.Sprint("http://10.0.0.1:8000/", round)}
		s.retain(servingPod, []Target{target})
		points := seriesOf(2000)
		for i := range points {
			points[i].labels = []label{{query.LabelModel, fmt.Sprintf("%096d-%d-%d", 0, round, i)}}
		}
		s.add(task{servingPod, target}, ago(float64(100-5*round)), points)
	}
	s.retain(servingPod, nil)
	names := 0
	for k := range s.gone {
		names += goneEntry + len(k.model)
	}
	if names > mostGone || s.weight != 0 || len(s.shares) != 0 {
		t.Errorf("%d bytes of names are left (at most %d), %d bytes of pages and %d namespaces (want none)", names, mostGone, s.weight, len(s.shares))
	}
}
