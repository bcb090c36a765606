package sim

import (
	"maps"
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Counts counts requests.
type Counts struct {
	Arrived  uint64 `json:"arrived"`
	Finished uint64 `json:"finished"`
	Rejected uint64 `json:"rejected"` // by every replica, or by a gateway that does not hold requests
	Expired  uint64 `json:"expired"`  // waited for a replica, or for a decode replica, for longer than Hold
	Lost     uint64 `json:"lost"`     // their replica ended
	// Abandoned counts requests that clients took back when their patience was over; Retried, how
	// many clients came back: see Patience.
	Abandoned uint64 `json:"abandoned"`
	Retried   uint64 `json:"retried"`
	Held      uint64 `json:"held"` // waited for a replica to be ready, whatever their end
	Met       uint64 `json:"met"`  // finished within both objectives
	MetTTFT   uint64 `json:"metTTFT"`
	MetITL    uint64 `json:"metITL"`

	OutputTokens uint64 `json:"outputTokens"` // of finished requests
}

// ended counts the requests that are no longer in flight.
func (c Counts) ended() uint64 { return c.Finished + c.Rejected + c.Expired + c.Lost + c.Abandoned }

func (c Counts) minus(o Counts) Counts {
	return Counts{
		Arrived: c.Arrived - o.Arrived, Finished: c.Finished - o.Finished, Rejected: c.Rejected - o.Rejected,
		Expired: c.Expired - o.Expired, Lost: c.Lost - o.Lost, Held: c.Held - o.Held,
		Abandoned: c.Abandoned - o.Abandoned, Retried: c.Retried - o.Retried,
		Met: c.Met - o.Met, MetTTFT: c.MetTTFT - o.MetTTFT, MetITL: c.MetITL - o.MetITL,
		OutputTokens: c.OutputTokens - o.OutputTokens,
	}
}

// Interval holds the measurements of one model in one interval of a run.
type Interval struct {
	Model    scaling.ModelKey  `json:"model"`
	End      time.Duration     `json:"end"` // offset from the start of the run
	Length   time.Duration     `json:"length"`
	Counts   Counts            `json:"counts"` // of requests by what happened within it
	TTFT     Latency           `json:"ttft"`   // of requests that finished within it
	ITL      Latency           `json:"itl"`
	InFlight int               `json:"inFlight"` // requests, at its end
	Waiting  int               `json:"waiting"`  // requests that wait for a replica to be ready, at its end
	Violated bool              `json:"violated"` // too few met their objectives, or some wait and none ended
	Variants []VariantInterval `json:"variants"` // sorted by Key
}

// VariantInterval is a variant at the end of an Interval, in replicas.
type VariantInterval struct {
	Key      scaling.VariantKey `json:"key"`
	Wanted   scaling.Replicas   `json:"wanted"`   // pods that exist and are not being removed
	Ready    scaling.Replicas   `json:"ready"`    // pods of Wanted
	Unplaced int                `json:"unplaced"` // pods of Wanted without a node
	Leaving  int                `json:"leaving"`  // pods removed and not yet gone
	Waiting  int                `json:"waiting"`  // requests that wait in its replicas
}

// tally holds the measurements of a model.
type tally struct {
	from, bin           time.Duration // Config.From and Config.Bin
	total, before       Counts        // of the run; at the start of the interval
	judged              Counts        // of the requests that arrived from From on
	bins                []Bin         // of judged
	ttft, itl, response Sketch        // of judged
	lately              struct{ ttft, itl Sketch }
	rejections          map[string]uint64 // of judged
	violation           time.Duration
	// back counts the retries. refused counts the requests that no replica took, of the whole run:
	// rejected, expired or abandoned at the gateway.
	back    struct{ arrived, ended uint64 }
	refused uint64
}

// book adds an event of a request to the counts. A retry is in none of them.
func (t *tally) book(r *request, count func(*Counts)) {
	if r.retry {
		return
	}
	count(&t.total)
	if r.arrived >= t.from {
		count(&t.judged)
	}
}

// end books that a request is no longer in flight.
func (t *tally) end(r *request, count func(*Counts)) {
	if r.retry {
		t.back.ended++
	}
	t.book(r, count)
}

// judges reports whether the request is in the Report.
func (t *tally) judges(r *request) bool { return !r.retry && r.arrived >= t.from }

// binOf returns the Bin of a judged request that arrived at an offset.
func (t *tally) binOf(arrived time.Duration) *Bin {
	i := int((arrived - t.from) / t.bin)
	for len(t.bins) <= i {
		t.bins = append(t.bins, Bin{})
	}
	return &t.bins[i]
}

func (t *tally) arrived(r *request) {
	if r.retry {
		t.back.arrived++
		t.total.Retried++
		if r.arrived >= t.from {
			t.judged.Retried++
		}
		return
	}
	t.book(r, func(c *Counts) { c.Arrived++ })
	if t.judges(r) {
		t.binOf(r.arrived).Arrived++
	}
}

func (t *tally) held(r *request) { t.book(r, func(c *Counts) { c.Held++ }) }

// outcome is a request that finished; times in ms.
type outcome struct {
	request             *request
	ttft, itl, response float64
	output              int32 // tokens
}

func (t *tally) finished(slo SLO, o outcome) {
	ttft, itl := slo.TTFT == 0 || o.ttft <= slo.TTFT, slo.ITL == 0 || o.itl <= slo.ITL
	t.end(o.request, func(c *Counts) {
		c.Finished++
		c.OutputTokens += uint64(o.output)
		c.MetTTFT += one(ttft)
		c.MetITL += one(itl)
		c.Met += one(ttft && itl)
	})
	if !o.request.retry {
		t.lately.ttft.Add(o.ttft)
		if o.output > 1 {
			t.lately.itl.Add(o.itl)
		}
	}
	if !t.judges(o.request) {
		return
	}
	t.binOf(o.request.arrived).Met += one(ttft && itl)
	t.ttft.Add(o.ttft)
	t.response.Add(o.response)
	if o.output > 1 {
		t.itl.Add(o.itl)
	}
}

// one returns 1 for true, else 0.
func one(is bool) uint64 {
	if is {
		return 1
	}
	return 0
}

func (t *tally) rejected(r *request, why string) {
	t.refuses(r)
	t.end(r, func(c *Counts) { c.Rejected++ })
	if !t.judges(r) {
		return
	}
	if t.rejections == nil {
		t.rejections = map[string]uint64{}
	}
	t.rejections[why]++
}

// refuses counts a request that no replica took. A request that prefill took does not count.
func (t *tally) refuses(r *request) {
	if r.stage == entering {
		t.refused++
	}
}

func (t *tally) expired(r *request) {
	t.refuses(r)
	t.end(r, func(c *Counts) { c.Expired++ })
}

func (t *tally) lost(r *request) { t.end(r, func(c *Counts) { c.Lost++ }) }

// abandoned books a request that its client takes back. atGateway says that no replica has had it.
func (t *tally) abandoned(r *request, atGateway bool) {
	if atGateway {
		t.refused++
	}
	t.end(r, func(c *Counts) { c.Abandoned++ })
}

// endInterval closes an interval and begins the next.
func (w *world) endInterval() error {
	w.agenda.push(event{at: w.now + w.cfg.Interval, kind: intervalEvent})
	return w.closeInterval()
}

// closeInterval closes the interval that has gone on since the last one.
func (w *world) closeInterval() error {
	if err := w.conserved(); err != nil {
		return err
	}
	length := w.now - w.measured
	w.measured = w.now
	if length == 0 {
		return nil
	}
	for _, m := range w.models {
		i := m.interval(w.now, length)
		if i.Violated && w.now > w.cfg.From {
			m.tally.violation += min(i.Length, w.now-w.cfg.From)
		}
		if w.cfg.OnInterval != nil {
			w.cfg.OnInterval(i)
		}
		m.tally.before = m.tally.total
		m.tally.lately.ttft.Reset()
		m.tally.lately.itl.Reset()
	}
	return nil
}

// interval returns the measurements of the interval that ends now.
func (m *model) interval(now, length time.Duration) Interval {
	t := &m.tally
	i := Interval{
		Model: m.Key, End: now, Length: length, Counts: t.total.minus(t.before),
		TTFT: t.lately.ttft.Summary(), ITL: t.lately.itl.Summary(),
		InFlight: m.inFlight(), Waiting: len(m.held) + len(m.passed),
	}
	if ended := i.Counts.ended(); ended > 0 {
		i.Violated = float64(i.Counts.Met) < m.SLO.Attainment*float64(ended)
	} else {
		// No request ended while some are in flight: the requests that wait are not served.
		i.Violated = i.InFlight > 0 && m.SLO.TTFT > 0 && milliseconds(length) > m.SLO.TTFT
	}
	for _, v := range m.variants {
		i.Variants = append(i.Variants, v.interval())
	}
	return i
}

func (v *variant) interval() VariantInterval {
	i := VariantInterval{Key: v.Spec.Key, Wanted: scaling.Replicas(len(v.pods)), Leaving: len(v.leaving)}
	for _, p := range v.pods {
		switch p.phase {
		case serves:
			i.Ready++
		case unplaced:
			i.Unplaced++
		case starting, unready, draining, gone:
		}
	}
	for _, pods := range [][]*pod{v.pods, v.leaving} {
		for _, p := range pods {
			if p.replica != nil {
				i.Waiting += p.replica.Stats().Waiting + p.pulls
			}
		}
	}
	return i
}

// Report is the result of a run, from Config.From on. Durations are in ns.
type Report struct {
	Policy   string        `json:"policy"`
	Seed     uint64        `json:"seed"`
	Horizon  time.Duration `json:"horizon"` // the length of the time over which cost was counted
	Models   []ModelReport `json:"models"`  // sorted by Model
	TTFT     Latency       `json:"ttft"`    // of all models
	ITL      Latency       `json:"itl"`     // of all models
	Decided  uint64        `json:"decided"` // times that the run asked the policy
	Complete bool          `json:"complete"`
}

// ModelReport is the result of a model.
type ModelReport struct {
	Model      scaling.ModelKey `json:"model"`
	SLO        SLO              `json:"slo"`
	Counts     Counts           `json:"counts"`
	Unfinished uint64           `json:"unfinished"` // in flight when the run ended
	Rejections []Rejection      `json:"rejections"` // sorted by Reason
	// Attainment is the share of the arrived requests that met both objectives; 1 where none
	// arrived. TTFTAttainment and ITLAttainment count one objective.
	Attainment     float64         `json:"attainment"`
	TTFTAttainment float64         `json:"ttftAttainment"`
	ITLAttainment  float64         `json:"itlAttainment"`
	Goodput        float64         `json:"goodput"` // requests/s that met both objectives, over the horizon
	TTFT           Latency         `json:"ttft"`    // of finished requests, from arrival
	ITL            Latency         `json:"itl"`     // of finished requests with two tokens or more
	Response       Latency         `json:"response"`
	Violation      time.Duration   `json:"violation"` // length of the intervals in violation
	Cost           float64         `json:"cost"`      // cost units
	Variants       []VariantReport `json:"variants"`  // sorted by Key
	// Bins are the requests by the time of their arrival, in stretches of Config.Bin from
	// Config.From on. They end with the last arrival.
	Bins []Bin `json:"bins"`
	// Before has the requests that arrived before Config.From, and the cost of replicas until then,
	// in cost units.
	Before Before `json:"before"`
	// Measured is the share of the requests of the whole run that met both objectives, as a
	// Measuring policy measured it, a ratio; nil without a measurement.
	Measured *float64 `json:"measured,omitempty"`
}

// Before is the part of a run that is not judged.
type Before struct {
	Bin
	Cost float64 `json:"cost"` // cost units
}

// Bin counts the requests that arrived within a stretch of time.
type Bin struct {
	Arrived uint64 `json:"arrived"`
	Met     uint64 `json:"met"` // both objectives, whenever they finished
}

// Rejection counts the requests that were rejected for a reason.
type Rejection struct {
	Reason string `json:"reason"`
	Count  uint64 `json:"count"`
}

// VariantReport is the result of a variant.
type VariantReport struct {
	Key          scaling.VariantKey `json:"key"`
	ReplicaHours float64            `json:"replicaHours"` // from a node taken to a node freed
	Cost         float64            `json:"cost"`         // cost units
	Peak         scaling.Replicas   `json:"peak"`         // most replicas asked for, of the whole run
	Grown        uint64             `json:"grown"`        // times that replicas were added
	Shrunk       uint64             `json:"shrunk"`       // times that replicas were removed
	Started      uint64             `json:"started"`      // replicas that took a node after the start of the run
	ColdStarts   uint64             `json:"coldStarts"`   // times that it grew while no replica of the model was ready
	Preemptions  uint64             `json:"preemptions"`  // of requests, in replicas, of the whole run

	occupied, before time.Duration // time from Config.From on, and before it
}

// occupied adds the time from when a replica took its node until now.
func (w *world) occupied(v *VariantReport, p *pod) {
	v.occupied += w.costed(w.now) - w.costed(p.placed)
	v.before += min(w.now, w.cfg.From) - min(p.placed, w.cfg.From)
}

// costed returns an offset, limited to the time in which cost counts.
func (w *world) costed(at time.Duration) time.Duration {
	if w.closed {
		at = min(at, w.horizon)
	}
	return max(at, w.cfg.From)
}

// judges reports whether events of now are in the Report.
func (w *world) judges() bool { return w.now >= w.cfg.From }

// report returns the Report of the run up to now.
func (w *world) report() Report {
	w.settleAll()
	r := Report{Policy: w.policy.Name(), Seed: w.cfg.Seed, Horizon: w.costed(w.now) - w.cfg.From, Decided: w.decided}
	var ttft, itl Sketch
	for _, m := range w.models {
		r.Models = append(r.Models, w.reportModel(m, r.Horizon))
		ttft.Merge(&m.tally.ttft)
		itl.Merge(&m.tally.itl)
	}
	r.TTFT, r.ITL = ttft.Summary(), itl.Summary()
	return r
}

func (w *world) reportModel(m *model, horizon time.Duration) ModelReport {
	t := &m.tally
	r := ModelReport{
		Model: m.Key, SLO: m.SLO, Counts: t.judged, Unfinished: t.judged.Arrived - t.judged.ended(), Rejections: []Rejection{},
		Attainment:     part(t.judged.Met, t.judged.Arrived),
		TTFTAttainment: part(t.judged.MetTTFT, t.judged.Arrived),
		ITLAttainment:  part(t.judged.MetITL, t.judged.Arrived),
		TTFT:           t.ttft.Summary(), ITL: t.itl.Summary(), Response: t.response.Summary(),
		Violation: t.violation, Bins: append([]Bin{}, t.bins...),
	}
	r.Before.Bin = Bin{Arrived: t.total.Arrived - t.judged.Arrived, Met: t.total.Met - t.judged.Met}
	if p, ok := w.policy.(Measuring); ok {
		if attained, known := p.Measured(m.Key); known {
			r.Measured = &attained
		}
	}
	if horizon > 0 {
		r.Goodput = float64(t.judged.Met) / horizon.Seconds()
	}
	for _, why := range slices.Sorted(maps.Keys(t.rejections)) {
		r.Rejections = append(r.Rejections, Rejection{why, t.rejections[why]})
	}
	for _, v := range m.variants {
		one := w.reportVariant(v)
		r.Cost += one.Cost
		r.Before.Cost += one.before.Hours() * v.Spec.Cost
		one.occupied, one.before = 0, 0
		r.Variants = append(r.Variants, one)
	}
	return r
}

func (w *world) reportVariant(v *variant) VariantReport {
	r := v.tally
	r.Key = v.Spec.Key
	for _, pods := range [][]*pod{v.pods, v.leaving} {
		for _, p := range pods {
			if p.phase != unplaced {
				w.occupied(&r, p)
			}
			if p.replica != nil {
				r.Preemptions += p.replica.Stats().Preemptions
			}
		}
	}
	r.ReplicaHours = r.occupied.Hours()
	r.Cost = r.ReplicaHours * v.Spec.Cost
	return r
}

func part(n, of uint64) float64 {
	if of == 0 {
		return 1
	}
	return float64(n) / float64(of)
}
