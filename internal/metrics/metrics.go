package metrics

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Clock returns the time with which a scrape computes ages.
type Clock interface {
	Now() time.Time
}

// Options are the options of Metrics. The zero value is valid.
type Options struct {
	// ControllerInstance names this controller where several share a cluster; "" is the only one.
	// It becomes a label of the replica families.
	ControllerInstance string
	// LegacyNames adds the instruments of legacyInstruments.
	LegacyNames bool
}

// Metrics exports the instruments of the Catalogue, and on request those of
// legacyInstruments. Its methods may be called
// from several goroutines.
type Metrics struct {
	health

	opts     Options
	clock    Clock
	families map[string]family // the decision series, by name

	publishing sync.Mutex // one publication at a time; scrapes do not take it
	exposition atomic.Pointer[exposition]
	following  following
}

// family is an instrument as client_golang needs it.
type family struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
}

// exposition holds the decision series of a scrape. It is never modified.
type exposition struct {
	series []prometheus.Metric
	ages   []age
	tally  map[scaling.VariantKey]tally
}

// age is a series whose value grows between two publications.
type age struct {
	name   string
	labels []string
	since  time.Time
}

// New returns the instruments, registered with reg. It panics if one of them is registered already:
// two Metrics on one registry are a programming error.
func New(reg prometheus.Registerer, clock Clock, opts Options) *Metrics {
	m := &Metrics{
		health:   newHealth(),
		opts:     opts,
		clock:    clock,
		families: map[string]family{},
	}
	instruments := decisionInstruments()
	if opts.LegacyNames {
		instruments = append(instruments, legacyInstruments()...)
	}
	for _, i := range instruments {
		m.families[i.Name] = i.family(opts.ControllerInstance)
	}
	m.exposition.Store(&exposition{})
	reg.MustRegister(decisions{m})
	reg.MustRegister(m.collectors()...)
	return m
}

// Clear removes all decision series when a process no longer leads. It also forgets the counts of
// changes, which the next leader goes on counting.
func (m *Metrics) Clear() {
	m.publishing.Lock()
	defer m.publishing.Unlock()
	m.exposition.Store(&exposition{})
	m.following.keep(nil)
}

// decisions is the Collector of the decision series. It is a type of its own, so that callers
// cannot register Metrics a second time.
type decisions struct{ *Metrics }

var _ prometheus.Collector = decisions{}

// Describe sends the descriptions of the decision series.
func (d decisions) Describe(ch chan<- *prometheus.Desc) {
	for _, f := range d.families {
		ch <- f.desc
	}
}

// Collect sends the series of the latest page, with the present ages.
func (d decisions) Collect(ch chan<- prometheus.Metric) {
	p, now := d.exposition.Load(), d.clock.Now()
	for _, s := range p.series {
		ch <- s
	}
	for _, s := range d.following.series(d.families[ScalerFollowing]) {
		ch <- s
	}
	for _, a := range p.ages {
		seconds := max(0, now.Sub(a.since).Seconds())
		ch <- prometheus.MustNewConstMetric(d.families[a.name].desc, prometheus.GaugeValue, seconds, a.labels...)
	}
}
