package memory

import (
	"slices"
	"strings"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// ModelPast is the memory of one model between cycles. Every variant of the model keeps a copy, so
// that it lasts as long as any of them.
type ModelPast struct {
	// Informed lists when each analyzer last had a result for the model, sorted by Analyzer.
	Informed []Informed `json:"informed,omitempty"`
	// Backlog counts the waiting requests of the model.
	Backlog Backlog `json:"backlog,omitzero"`
	// Activity says whether the model had requests, and when.
	Activity Activity `json:"activity,omitzero"`
	// Traffic holds the lengths and rates of the requests of the model.
	Traffic Traffic `json:"traffic,omitzero"`
	// Turns are the reductions of the model that growth undid.
	Turns Turns `json:"turns,omitzero"`
	// Peaks are the largest demands of the model.
	Peaks Peaks `json:"peaks,omitzero"`
}

// Informed is when an analyzer last had a result other than Unknown.
type Informed struct {
	Analyzer string    `json:"analyzer"`
	At       time.Time `json:"at"`
}

// Model returns the memory of the model of variants: each part from the variant with the latest,
// since a variant that was added later remembers less; of equals, from the first by key.
func (h History) Model(variants []scaling.Variant) ModelPast {
	var m ModelPast
	for _, v := range scaling.ByKey(variants) {
		m = m.latest(h[v.Key].ModelPast)
	}
	return m
}

// latest returns each part from m or other, whichever is later; of equals, from m.
func (m ModelPast) latest(other ModelPast) ModelPast {
	m.Informed = latestInformed(m.Informed, other.Informed)
	m.Backlog = m.Backlog.latest(other.Backlog)
	if other.Activity.At.After(m.Activity.At) {
		m.Activity = other.Activity
	}
	// A look at traffic always sets the time of the footprint.
	if other.Traffic.Footprint.At.After(m.Traffic.Footprint.At) {
		m.Traffic = other.Traffic
	}
	m.Turns = m.Turns.Latest(other.Turns)
	if other.Peaks.At.After(m.Peaks.At) {
		m.Peaks = other.Peaks
	}
	return m
}

// latestInformed returns for each analyzer the later entry of two lists that are sorted by
// Analyzer.
func latestInformed(a, b []Informed) []Informed {
	if slices.Equal(a, b) || len(b) == 0 {
		return a
	}
	out := slices.Clone(a)
	for _, i := range b {
		at, found := slices.BinarySearchFunc(out, i, func(a, b Informed) int { return strings.Compare(a.Analyzer, b.Analyzer) })
		switch {
		case !found:
			out = slices.Insert(out, at, i)
		case i.At.After(out[at].At):
			out[at] = i
		}
	}
	return out
}

// at returns m as it is remembered at now; see Past.At.
func (m ModelPast) at(now time.Time) ModelPast {
	m.Informed = slices.Clone(m.Informed)
	for i := range m.Informed {
		m.Informed[i].At = before(m.Informed[i].At, now)
	}
	m.Backlog.At, m.Backlog.StandsSince = before(m.Backlog.At, now), before(m.Backlog.StandsSince, now)
	m.Activity = m.Activity.at(now)
	m.Traffic = m.Traffic.at(now)
	m.Turns = m.Turns.at(now)
	m.Peaks = m.Peaks.at(now)
	return m
}
