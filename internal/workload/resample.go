package workload

import (
	"iter"
	"math/rand/v2"
	"time"
)

// Resample draws another run of a recorded workload: a local block bootstrap (Paparoditis and
// Politis, Journal of Time Series Analysis 23, 2002). Time is cut into cells of length Cell. Each
// cell of the result is a stretch of the record that begins at a random instant within Reach of the
// cell, with all its arrivals.
//
// So the result keeps the record's bursts shorter than a cell, the pairs of input and output
// length, and the rate over several Reach. The times of arrival, the choice of requests and their
// number in a minute are random. The zero value has no cells; see DefaultResample.
type Resample struct {
	Cell  time.Duration // > 0
	Reach time.Duration // >= 0
}

// DefaultResample returns cells of 10 s from within a minute: it keeps the rates of
// two minutes, and bursts of seconds.
func DefaultResample() Resample { return Resample{Cell: 10 * time.Second, Reach: time.Minute} }

// Of returns one draw from a record, in order of arrival. It reads the record once and keeps only
// the requests near the present, within about Reach and two cells. It draws from rng and can be
// consumed once. An error of the record ends it.
func (s Resample) Of(record iter.Seq2[Request, error], rng *rand.Rand) iter.Seq2[Request, error] {
	return func(yield func(Request, error) bool) {
		d := resampling{Resample: s, rng: rng, yield: yield}
		for r, err := range record {
			if err != nil {
				yield(Request{}, err)
				return
			}
			// A cell is drawn when the record is known as far as the cell may reach.
			for d.at+2*s.Cell+s.Reach <= r.At {
				if !d.cell(never) {
					return
				}
			}
			d.known = append(d.known, r)
			d.last = r.At
		}
		for len(d.known) > 0 && d.at <= d.last {
			if !d.cell(d.last) {
				return
			}
		}
	}
}

// never is a time after every arrival.
const never = time.Duration(1<<63 - 1)

// resampling is the state of one draw.
type resampling struct {
	Resample
	rng   *rand.Rand
	yield func(Request, error) bool
	known []Request // requests of the record, from the earliest that a cell may still reach
	at    time.Duration
	last  time.Duration // arrival of the record
}

// cell draws the next cell. end is the last arrival of the record. Near both ends of the record the
// reach is shorter, equally to both sides. It returns false when the consumer has stopped.
func (d *resampling) cell(end time.Duration) bool {
	length := min(d.Cell, end-d.at+1)
	reach := max(0, min(d.Reach, d.at, end-d.at-length+1))
	from := d.at - reach + time.Duration(d.rng.Int64N(int64(2*reach)+1))
	for _, r := range d.known {
		if r.At < from || r.At >= from+length {
			continue
		}
		r.At += d.at - from
		if !d.yield(r, nil) {
			return false
		}
	}
	d.at += d.Cell
	drop := 0
	for drop < len(d.known) && d.known[drop].At < d.at-d.Reach {
		drop++
	}
	if drop > len(d.known)/2 {
		d.known = append(d.known[:0], d.known[drop:]...)
	}
	return true
}
