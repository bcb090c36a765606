package memory

import (
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Peaks remembers the largest demand of a model in the last hour, as the largest of each ten
// minutes. The zero value remembers nothing. It is a value: no method changes it.
type Peaks struct {
	At   time.Time    `json:"at,omitzero"`    // of the last look
	Unit scaling.Unit `json:"unit,omitempty"` // of the demands
	Of   []Peak       `json:"of,omitempty"`   // oldest first
}

// Peak is the largest demand of ten minutes.
type Peak struct {
	Since  time.Time `json:"since"` // when they began
	Demand float64   `json:"demand"`
}

const (
	// peakSpan is the time of one Peak, peaksFor the time for which Peaks are remembered.
	peakSpan, peaksFor = 10 * time.Minute, time.Hour
)

// Then returns p after a look at now that measured a demand. A demand in another unit cannot be
// compared: it begins anew. A look that is not later than the last changes nothing.
func (p Peaks) Then(demand float64, unit scaling.Unit, now time.Time) Peaks {
	if !now.After(p.At) {
		return p
	}
	out := Peaks{At: now, Unit: unit}
	if unit == p.Unit {
		for _, one := range p.Of {
			if now.Sub(one.Since) < peaksFor+peakSpan {
				out.Of = append(out.Of, one)
			}
		}
	}
	if n := len(out.Of); n > 0 && now.Sub(out.Of[n-1].Since) < peakSpan {
		out.Of[n-1].Demand = max(out.Of[n-1].Demand, demand)
	} else {
		out.Of = append(out.Of, Peak{Since: now, Demand: demand})
	}
	return out
}

// Most returns the largest demand of the last hour, and false where less than ten minutes of it are
// remembered.
func (p Peaks) Most() (demand float64, known bool) {
	for _, one := range p.Of {
		demand = max(demand, one.Demand)
	}
	return demand, len(p.Of) > 0 && p.At.Sub(p.Of[0].Since) >= peakSpan
}
