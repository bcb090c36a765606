package lab

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/workload"
)

// Record is the content of a workload file: a log of requests, or a curve of rates.
type Record struct {
	Name     string // the file
	Requests []workload.Request
	Curve    workload.Profile // if Requests is nil
}

// ReadRecord reads a whole file. Errors are those of File.
func ReadRecord(path string) (Record, error) {
	isRates, err := hasRates(path)
	if err != nil {
		return Record{}, fmt.Errorf("opening the workload: %w", err)
	}
	r := Record{Name: path}
	if isRates {
		file, err := os.Open(path)
		if err != nil {
			return r, fmt.Errorf("opening the workload: %w", err)
		}
		defer file.Close()
		r.Curve, err = workload.ReadRates(file, workload.RateOptions{File: path})
		return r, err
	}
	for request, err := range record(path) {
		if err != nil {
			return r, err
		}
		r.Requests = append(r.Requests, request)
	}
	if len(r.Requests) == 0 {
		return r, fmt.Errorf("the workload %s has no requests", path)
	}
	return r, nil
}

// Span returns the length of the record; of a log, until the second after its last request.
func (r Record) Span() time.Duration {
	if r.Requests == nil {
		return r.Curve.Duration()
	}
	return r.Requests[len(r.Requests)-1].At.Truncate(time.Second) + time.Second
}

// Cut is a stretch of a Record, at a multiple of its rate.
type Cut struct {
	// From is the begin of the stretch within the record, and For its length, > 0. A record that is
	// too short repeats.
	From, For time.Duration
	// Times multiplies the arrival rate, > 0. Below 1 a log loses requests at random. Above 1,
	// several draws of workload.Resample from the log run side by side, so that bursts of single
	// clients do not grow with the rate.
	Times float64
	// Lengths are the lengths of the requests of a curve, which has none.
	Lengths workload.Lengths
}

// Of returns the stretch of a record as a workload.
func (c Cut) Of(r Record) Source {
	s := Source{Name: r.Name, Length: c.For, Curve: r.Requests == nil}
	if s.Curve {
		s.Open = func(seed uint64) iter.Seq2[workload.Request, error] {
			p, err := c.curve(r.Curve)
			if err != nil {
				return unreadable(err)
			}
			return workload.WithoutError(workload.Generate(p, c.Lengths, rand.New(rand.NewPCG(seed, 0))))
		}
		return s
	}
	s.Open = func(seed uint64) iter.Seq2[workload.Request, error] {
		base := c.log(r)
		copies := max(1, uint64(math.Ceil(c.Times)))
		var parts []iter.Seq2[workload.Request, error]
		for i := range copies {
			one := each(base)
			if seed+i != asRecorded {
				one = workload.DefaultResample().Of(one, rand.New(rand.NewPCG(seed, i)))
			}
			if part := c.Times / float64(copies); part < 1 {
				one = workload.Thin(part, seed+i).Take(one)
			}
			parts = append(parts, one)
		}
		return merged(parts)
	}
	return s
}

// log returns the requests of the stretch.
func (c Cut) log(r Record) []workload.Request {
	var out []workload.Request
	span := r.Span()
	for begin := -c.From % span; begin < c.For; begin += span {
		for _, one := range r.Requests {
			if one.At += begin; one.At >= 0 && one.At < c.For {
				out = append(out, one)
			}
		}
	}
	return out
}

// curve returns the rates of the stretch.
func (c Cut) curve(p workload.Profile) (workload.Profile, error) {
	var out []workload.Segment
	for begin := -c.From % p.Duration(); begin < c.For; {
		for _, s := range p.Segments() {
			from, to := max(0, begin), min(c.For, begin+s.Length())
			if begin += s.Length(); from < to {
				out = append(out, workload.Constant{Rate: s.RateAt(0) * c.Times, Duration: to - from})
			}
		}
	}
	return workload.NewProfile(out...)
}

// Mix returns several workloads at the same time. It ends with the longest.
func Mix(name string, all ...Source) Source {
	if len(all) == 1 {
		return all[0]
	}
	s := Source{Name: name}
	for _, one := range all {
		s.Length = max(s.Length, one.Length)
	}
	s.Open = func(seed uint64) iter.Seq2[workload.Request, error] {
		parts := make([]iter.Seq2[workload.Request, error], len(all))
		for i, one := range all {
			parts[i] = one.Open(seed + uint64(i)*1000)
		}
		return merged(parts)
	}
	return s
}

// Remembered returns s with the requests of the last seed kept in memory. Several goroutines may
// use it.
func (s Source) Remembered() Source {
	var (
		mu    sync.Mutex
		of    uint64
		known []workload.Request
		wrong error
	)
	whole := s.Open
	s.Open = func(seed uint64) iter.Seq2[workload.Request, error] {
		mu.Lock()
		defer mu.Unlock()
		if known == nil && wrong == nil || of != seed {
			known, wrong, of = []workload.Request{}, nil, seed
			for request, err := range whole(seed) {
				if err != nil {
					wrong = err
					break
				}
				known = append(known, request)
			}
		}
		if wrong != nil {
			return unreadable(wrong)
		}
		return each(known)
	}
	return s
}

func each(all []workload.Request) iter.Seq2[workload.Request, error] {
	return workload.WithoutError(slices.Values(all))
}

func unreadable(err error) iter.Seq2[workload.Request, error] {
	return func(yield func(workload.Request, error) bool) { yield(workload.Request{}, err) }
}

// merged returns the requests of several workloads in the order of arrival.
func merged(parts []iter.Seq2[workload.Request, error]) iter.Seq2[workload.Request, error] {
	if len(parts) == 1 {
		return parts[0]
	}
	var all []workload.Request
	var errs []error
	for _, part := range parts {
		for request, err := range part {
			if err != nil {
				errs = append(errs, err)
				break
			}
			all = append(all, request)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return unreadable(err)
	}
	slices.SortStableFunc(all, func(a, b workload.Request) int { return cmp.Compare(a.At, b.At) })
	return each(all)
}
