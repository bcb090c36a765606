package report

import (
	"math"
	"strings"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// data is what the script in the page reads. src/data.js reads its fields.
type data struct {
	Phrases   []string       `json:"phrases"`
	Scenarios []scenarioData `json:"scenarios"`
}

type scenarioData struct {
	Name       string       `json:"name"`
	TTFT       float64      `json:"ttft"` // ms, 0 for no objective
	ITL        float64      `json:"itl"`
	Attainment float64      `json:"attainment"`
	End        float64      `json:"end"` // s, of the last point
	Offered    series       `json:"offered"`
	Feasible   *place       `json:"feasible"` // of the clairvoyant
	Policies   []policyData `json:"policies"` // ranked
}

type policyData struct {
	Name      string        `json:"name"`
	Own       bool          `json:"own"`
	Drawn     bool          `json:"drawn"`
	Reached   outcome       `json:"reached"`
	Place     *place        `json:"place"`
	Variants  []string      `json:"variants"`
	Replicas  []series      `json:"replicas"` // of each variant; before them the sum if there are several
	Queued    series        `json:"queued"`
	TTFT      series        `json:"ttft"`
	ITL       series        `json:"itl"`
	Decisions decisionsData `json:"decisions"`
}

// mark is [mean, low, high].
type mark [3]float64

// place is a point of cost against attainment.
type place struct {
	Cost       mark `json:"cost"`
	Attainment mark `json:"attainment"`
}

// series is a thinned series in columns. Times are in s, each as the difference
// to the one before it.
type series struct {
	T []seconds  `json:"t"`
	V []*rounded `json:"v"` // null where unknown
}

// decisionsData are the decisions in columns.
type decisionsData struct {
	T       []seconds          `json:"t"`       // as in series
	Variant []int              `json:"variant"` // index into Variants
	From    []scaling.Replicas `json:"from"`
	To      []scaling.Replicas `json:"to"`
	Phrase  []int              `json:"phrase"`  // index into Phrases
	Numbers []string           `json:"numbers"` // the numbers for its holes, with spaces between
}

// seconds are s in whole ms.
type seconds float64

// MarshalJSON writes no more digits than ms need.
func (s seconds) MarshalJSON() ([]byte, error) { return plain(float64(s), 3), nil }

// rounded is a number that is shown with at most four digits.
type rounded float64

// MarshalJSON writes four digits, or all digits before the point.
func (r rounded) MarshalJSON() ([]byte, error) {
	v := float64(r)
	digits := 0
	if size := math.Abs(v); size > 0 && size < 1000 {
		digits = 3 - int(math.Floor(math.Log10(size)))
	}
	return plain(v, digits), nil
}

func newData(p Document) data {
	var d data
	var known phrases
	for _, s := range p.Scenarios {
		d.Scenarios = append(d.Scenarios, newScenarioData(s, &known))
	}
	d.Phrases = known.list
	return d
}

func newScenarioData(s Scenario, known *phrases) scenarioData {
	d := scenarioData{
		Name: s.Name, TTFT: s.Objectives.TTFT, ITL: s.Objectives.ITL, Attainment: s.Objectives.Attainment,
		Feasible: newPlace(s.Clairvoyant.Cost, s.Clairvoyant.Attainment),
	}
	var times []time.Duration
	var values []float64
	for _, p := range s.Offered {
		times, values = append(times, p.At), append(values, p.Value)
	}
	d.Offered = newSeries(times, values)
	d.End = s.end().Seconds()
	policies := ranked(s.Policies, s.Objectives)
	for i, draw := range drawn(policies) {
		one := newPolicyData(policies[i], known)
		one.Drawn, one.Reached = draw, s.Objectives.outcome(policies[i])
		d.Policies = append(d.Policies, one)
	}
	return d
}

// end returns the last instant of the scenario's points, samples and decisions.
func (s Scenario) end() time.Duration {
	var end time.Duration
	if n := len(s.Offered); n > 0 {
		end = s.Offered[n-1].At
	}
	for _, p := range s.Policies {
		if n := len(p.Samples); n > 0 {
			end = max(end, p.Samples[n-1].At)
		}
		if n := len(p.Decisions); n > 0 {
			end = max(end, p.Decisions[n-1].At)
		}
	}
	return end
}

func newPolicyData(p Result, known *phrases) policyData {
	column := func(read func(Sample) float64) series {
		times, values := make([]time.Duration, len(p.Samples)), make([]float64, len(p.Samples))
		for i, s := range p.Samples {
			times[i], values[i] = s.At, read(s)
		}
		return newSeries(times, values)
	}
	d := policyData{
		Name: p.Name, Own: p.Own, Place: newPlace(p.Measures.Cost, p.Measures.Attainment), Variants: p.Variants,
		Queued:    column(func(s Sample) float64 { return s.Queued }),
		TTFT:      column(func(s Sample) float64 { return s.TTFT }),
		ITL:       column(func(s Sample) float64 { return s.ITL }),
		Decisions: newDecisionsData(p, known),
	}
	if len(p.Variants) > 1 {
		d.Replicas = append(d.Replicas, column(func(s Sample) float64 { return float64(sum(s.Replicas)) }))
	}
	for i := range p.Variants {
		d.Replicas = append(d.Replicas, column(func(s Sample) float64 { return float64(s.Replicas[i]) }))
	}
	return d
}

func newDecisionsData(p Result, known *phrases) decisionsData {
	index := map[string]int{}
	for i, v := range p.Variants {
		index[v] = i
	}
	var d decisionsData
	var last time.Duration
	for _, one := range p.Decisions {
		phrase, numbers := split(one.Reason)
		d.T = append(d.T, since(&last, one.At))
		d.Variant = append(d.Variant, index[one.Variant])
		d.From, d.To = append(d.From, one.From), append(d.To, one.To)
		d.Phrase = append(d.Phrase, known.add(phrase))
		d.Numbers = append(d.Numbers, strings.Join(numbers, " "))
	}
	return d
}

// newSeries thins a series. A value that is not finite becomes null.
func newSeries(times []time.Duration, values []float64) series {
	s := series{T: []seconds{}, V: []*rounded{}}
	var last time.Duration
	for _, i := range thin(values, mostPoints) {
		s.T = append(s.T, since(&last, times[i]))
		var v *rounded
		if finite(values[i]) {
			r := rounded(values[i])
			v = &r
		}
		s.V = append(s.V, v)
	}
	return s
}

// since returns the time from *last to at, in whole ms, and moves *last there.
// Roundings do not add up.
func since(last *time.Duration, at time.Duration) seconds {
	passed := at.Round(time.Millisecond) - last.Round(time.Millisecond)
	*last = at
	return seconds(passed.Seconds())
}

func newPlace(cost, attainment Spread) *place {
	if !cost.Known() || !attainment.Known() {
		return nil
	}
	return &place{Cost: *newMark(cost), Attainment: *newMark(attainment)}
}

func newMark(s Spread) *mark {
	if !s.wide() {
		return &mark{s.Mean, s.Mean, s.Mean}
	}
	return &mark{s.Mean, s.Low, s.High}
}

func sum(counts []scaling.Replicas) scaling.Replicas {
	total := scaling.Replicas(0)
	for _, n := range counts {
		total += n
	}
	return total
}
