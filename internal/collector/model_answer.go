package collector

import (
	"math"
	"strings"
	"time"
	"unsafe"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/cache"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// modelAnswer is what one fetch returned about one model, before it is joined with the live pods.
// It is never modified once it is built, and small: the cache keeps it.
type modelAnswer struct {
	survey *survey
	pods   []podRow // sorted by name
	ranked bool     // some names carry the rank of an engine
	flows  flows
	picker picker
	// The histograms have no freshness of their own: they get that of the page when they are read.
	ttft, itl, requestITL scaling.Histogram
	percentiles           bool            // the histograms were asked for
	seen                  []string        // the models that have pages, where this one has none
	elsewhere             bool            // the models of seen are of other namespaces
	unjoined              string          // why pages that name the model belong to none of its pods
	twofold               string          // a pod whose rates count twice, "" for none: see builders.readNames
	shared                []sharedAddress // sorted
}

var _ cache.Value = (*modelAnswer)(nil)

// complete reports whether every question about the model was answered.
func (s *modelAnswer) complete() bool { return s.survey.failed == 0 }

// survey is what the model answers of one fetch and namespace have in common.
type survey struct {
	at     time.Time // of the answers, on the source's clock
	asked  time.Time // when the fetch began, on the manager's clock
	window time.Duration
	grace  time.Duration // how long a pod may be Ready before it must have a page
	failed questions
}

// questions is a set of questions.
type questions uint32

// with returns the set with one more member.
func (s questions) with(ask query.Question) questions { return s | 1<<ask }

// has reports whether ask is in the set.
func (s questions) has(ask query.Question) bool { return s&(1<<ask) != 0 }

// now returns the present instant of the source's clock [ms], given that of the manager's clock.
func (s *survey) now(manager time.Time) int64 {
	return s.at.UnixMilli() + max(manager.Sub(s.asked), 0).Milliseconds()
}

// shown returns an instant of the source's clock [ms] on the manager's clock.
func (s *survey) shown(at int64) time.Time {
	return time.UnixMilli(at).Add(s.asked.Sub(s.at).Truncate(time.Millisecond)).UTC()
}

// lag returns how far the source's clock is behind the manager's, in whole minutes; 0 below one
// minute.
func (s *survey) lag() time.Duration {
	if s.at.IsZero() || s.asked.IsZero() {
		return 0
	}
	return s.asked.Sub(s.at).Truncate(time.Minute)
}

// The numbers of a pod are those from firstGauge on, in catalogue order.
const (
	firstGauge = query.KVCacheUsagePeak
	gauges     = query.Started - firstGauge + 1
)

// podRow is what the source reports under one name of a pod.
type podRow struct {
	name   string
	page   pageTimes
	gauges [gauges]float64 // NaN where there is none
	held   float64         // requests, NaN for a pod that cannot be stuck
	stuck  stuckness
	// generates: it generated tokens within the StuckSpan.
	generates bool
	labels    podLabels
}

// podLabels is the set of labels in which pages name a pod.
type podLabels uint8

const (
	byPod podLabels = 1 << iota
	byPodName
)

// stuckness is the scaling.Stuckness of a row in one byte, in order of severity.
type stuckness uint8

const (
	moves stuckness = iota
	frozen
	sick
)

// newPodRow returns a row without numbers. It copies the name, which may be part of a long answer.
func newPodRow(name string) podRow {
	p := podRow{name: strings.Clone(name), held: math.NaN()}
	for i := range p.gauges {
		p.gauges[i] = math.NaN()
	}
	return p
}

// gauge returns the number of q.
func (p *podRow) gauge(q query.Quantity) *float64 { return &p.gauges[q-firstGauge] }

// The numbers of a model are those from firstFlow on, in catalogue order.
const (
	firstFlow = query.Completions
	flowCount = query.PrefixHits - firstFlow + 1
)

// flows are the rates and means of a model: NaN without a row, garbage where the row has no number.
type flows [flowCount]float64

// garbage stands for a value that is no number. It is less than any number, so that a number beside
// it counts.
var garbage = math.Inf(-1)

// newFlows returns flows without rows.
func newFlows() flows {
	var f flows
	for i := range f {
		f[i] = math.NaN()
	}
	return f
}

// of returns the number of q.
func (f *flows) of(q query.Quantity) *float64 { return &f[q-firstFlow] }

// Size implements cache.Value. The survey is shared and not counted.
func (s *modelAnswer) Size() int {
	size := int(unsafe.Sizeof(*s)) + len(s.pods)*int(unsafe.Sizeof(podRow{})) + len(s.unjoined)
	for i := range s.pods {
		size += len(s.pods[i].name)
	}
	size += (len(s.ttft.Buckets) + len(s.itl.Buckets) + len(s.requestITL.Buckets)) * int(unsafe.Sizeof(scaling.Bucket{}))
	for _, a := range s.shared {
		size += int(unsafe.Sizeof(a)) + len(a.pod) + len(a.job) + len(a.instance)
	}
	for _, name := range s.seen {
		size += int(unsafe.Sizeof(name)) + len(name)
	}
	return size
}
