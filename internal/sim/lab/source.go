package lab

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/workload"
)

// Source is a workload that can be read again and again.
type Source struct {
	Name string // the file, or the generator in the grammar of workload.ParseProfile
	// Length is how long requests may arrive, 0 where it is unknown before reading.
	Length time.Duration
	Curve  bool // a curve of rates, for which FileOptions have a meaning
	// Open begins a pass. One seed gives the same requests every time, and another seed others: of
	// a log, seed 1 gives the recorded requests and every other a draw of workload.Resample.
	Open func(seed uint64) iter.Seq2[workload.Request, error]
}

// FileOptions say how to read a file.
type FileOptions struct {
	// Lengths are the lengths of the requests of a curve of rates, which has none.
	Lengths workload.Lengths
	// Peak scales a curve of rates so that its highest rate is Peak, requests/s; 0 leaves it alone.
	// Take reads only the first part of the curve, of this length; 0 reads all.
	Peak float64
	Take time.Duration
}

// Generator returns a workload that is drawn from a profile of arrivals.
func Generator(p workload.Profile, l workload.Lengths) Source {
	return Source{Name: p.String(), Length: p.Duration(), Open: func(seed uint64) iter.Seq2[workload.Request, error] {
		return workload.WithoutError(workload.Generate(p, l, rand.New(rand.NewPCG(seed, 0))))
	}}
}

// File returns the workload of a file: a request log in a format of package workload, which is
// streamed, or a curve of rates, which has a column window_start_s. An error names the file and
// what was expected. An error further down in a log comes from the pass that reaches it.
func File(path string, o FileOptions) (Source, error) {
	isRates, err := hasRates(path)
	if err != nil {
		return Source{}, fmt.Errorf("opening the workload: %w", err)
	}
	if isRates {
		return rates(path, o)
	}
	return Source{Name: path, Open: func(seed uint64) iter.Seq2[workload.Request, error] {
		if seed == asRecorded {
			return record(path)
		}
		return workload.DefaultResample().Of(record(path), rand.New(rand.NewPCG(seed, 0)))
	}}, nil
}

// asRecorded is the seed with which a log is read without resampling.
const asRecorded = 1

// record reads a request log.
func record(path string) iter.Seq2[workload.Request, error] {
	return func(yield func(workload.Request, error) bool) {
		file, err := os.Open(path)
		if err != nil {
			yield(workload.Request{}, err)
			return
		}
		defer file.Close()
		for request, err := range workload.ReadLog(file, workload.LogOptions{File: path}) {
			if !yield(request, err) {
				return
			}
		}
	}
}

// hasRates reports whether a file is a curve of rates, by its header.
func hasRates(path string) (bool, error) {
	file, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return false, err
	}
	if !info.Mode().IsRegular() {
		return false, fmt.Errorf("%s is no regular file: every policy reads the workload again", path)
	}
	head, err := bufio.NewReader(file).Peek(512)
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	header, _, _ := strings.Cut(string(head), "\n")
	return slices.Contains(strings.Split(strings.TrimSpace(header), ","), "window_start_s"), nil
}

func rates(path string, o FileOptions) (Source, error) {
	file, err := os.Open(path)
	if err != nil {
		return Source{}, fmt.Errorf("opening the workload: %w", err)
	}
	defer file.Close()
	profile, err := workload.ReadRates(file, workload.RateOptions{File: path, Peak: o.Peak, Take: o.Take})
	if err != nil {
		return Source{}, err
	}
	s := Generator(profile, o.Lengths)
	s.Name, s.Curve = path, true
	return s, nil
}

// Part returns the requests of one of several parts of s, drawn request by request.
func (s Source) Part(parts []float64, of int) Source {
	if len(parts) < 2 {
		return s
	}
	whole := s.Open
	s.Open = func(seed uint64) iter.Seq2[workload.Request, error] {
		return workload.Share{Parts: parts, Of: of, Seed: seed}.Take(whole(seed))
	}
	return s
}

// Window returns the stretch of s that begins at from, as a workload.
func (s Source) Window(from, length time.Duration) Source {
	whole := s.Open
	s.Length = length
	s.Open = func(seed uint64) iter.Seq2[workload.Request, error] {
		return func(yield func(workload.Request, error) bool) {
			for request, err := range whole(seed) {
				if err == nil && request.At < from {
					continue
				}
				request.At -= from
				if err == nil && request.At >= length || !yield(request, err) {
					return
				}
			}
		}
	}
	return s
}

// Repeat returns s repeated until requests have arrived for at least the given time, each pass with
// another seed. If s is as long already, it returns s.
func (s Source) Repeat(least time.Duration) Source {
	if s.Length >= least {
		return s
	}
	once := s
	for s.Length > 0 && s.Length < least {
		s.Length += once.Length
	}
	s.Open = func(seed uint64) iter.Seq2[workload.Request, error] {
		return func(yield func(workload.Request, error) bool) {
			for begin, pass := time.Duration(0), uint64(0); begin < least; pass++ {
				end := begin + once.Length
				for request, err := range once.Open(seed + pass<<32) {
					request.At += begin
					end = max(end, request.At)
					if !yield(request, err) || err != nil {
						return
					}
				}
				if end == begin {
					return // nothing arrives
				}
				begin = end
			}
		}
	}
	return s
}
