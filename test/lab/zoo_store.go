package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/lab"
)

// simulatorVersion is raised when a change of the simulator or of a policy of others changes the
// results of these policies: their kept results are then run again. A test compares a small run
// with it.
const simulatorVersion = "1"

// kept is the result of a policy in a scenario, one line of the file of results.
type kept struct {
	Key      string        `json:"key"`
	Scenario string        `json:"scenario"`
	Policy   string        `json:"policy,omitempty"`
	Version  string        `json:"version"` // commit of ours, simulatorVersion of the others
	Result   *result       `json:"result,omitempty"`
	Measured *lab.Measured `json:"measured,omitempty"` // of a variant
	Report   *sim.Report   `json:"report,omitempty"`   // of a run of the matrix
}

// result is the result of a policy. Attainment and cost are those of the part that is judged.
type result struct {
	Attainment float64    `json:"attainment"`
	Cost       float64    `json:"cost"`
	WorstHour  float64    `json:"worstHour"`
	Settings   string     `json:"settings,omitempty"` // to which it was tuned
	Untuned    *lab.Point `json:"untuned,omitempty"`
	Hindsight  *lab.Point `json:"hindsight,omitempty"`
	Turns      int        `json:"turns"` // most of one variant, at constant load once settled
	Seconds    float64    `json:"seconds"`
	Error      string     `json:"error,omitempty"`
}

// point returns the attainment and the cost of a result.
func (r result) point() lab.Point { return lab.Point{Attainment: r.Attainment, Cost: r.Cost} }

// resultFile keeps results in a file, by their keys. It is safe for concurrent use.
type resultFile struct {
	mu    sync.Mutex
	known map[string]kept
	file  *os.File
	err   error // of the last write
}

// openResults reads the results kept in a folder. It drops a last line that was cut off.
func openResults(folder string) (*resultFile, error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, fmt.Errorf("opening the results: %w", err)
	}
	name := filepath.Join(folder, "results.jsonl")
	s := &resultFile{known: map[string]kept{}}
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening the results: %w", err)
	}
	s.file = file
	good := int64(0)
	lines := bufio.NewReader(file)
	for {
		line, err := lines.ReadBytes('\n')
		var one kept
		if err != nil || json.Unmarshal(line, &one) != nil {
			break
		}
		good += int64(len(line))
		s.known[one.Key] = one
	}
	if err := errors.Join(file.Truncate(good), seek(file, good)); err != nil {
		return nil, errors.Join(fmt.Errorf("opening the results %s: %w", name, err), file.Close())
	}
	return s, nil
}

func seek(file *os.File, at int64) error {
	_, err := file.Seek(at, 0)
	return err
}

// close closes the file, and returns the errors of writing.
func (s *resultFile) close() error { return errors.Join(s.err, s.file.Close()) }

func (s *resultFile) find(key string) (kept, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one, ok := s.known[key]
	return one, ok
}

func (s *resultFile) put(one kept) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known[one.Key] = one
	line, err := json.Marshal(one)
	if err == nil {
		_, err = s.file.Write(append(line, '\n'))
	}
	s.err = errors.Join(s.err, err)
}

// benchmarks keeps the measurements of the replicas of scenarios, by the key of a scenario.
type benchmarks struct {
	*resultFile
	of func(scenario string) string
}

var _ lab.Benchmarks = benchmarks{}

func (b benchmarks) key(scenario string, v scaling.VariantKey) string {
	return hash(b.of(scenario), "measured", v.String(), simulatorVersion)
}

// Known implements lab.Benchmarks.
func (b benchmarks) Known(scenario string, v scaling.VariantKey) (lab.Measured, bool) {
	one, ok := b.find(b.key(scenario, v))
	if !ok || one.Measured == nil {
		return lab.Measured{}, false
	}
	return *one.Measured, true
}

// Keep implements lab.Benchmarks.
func (b benchmarks) Keep(scenario string, v scaling.VariantKey, m lab.Measured) {
	b.put(kept{Key: b.key(scenario, v), Scenario: scenario, Version: simulatorVersion, Measured: &m})
}

// reports keeps the results of the runs of the matrix.
type reports struct {
	*resultFile
	build string // of our policies
}

var _ lab.Reports = reports{}

// version returns the version of a policy: of ours, this build; of the others, this simulator.
func (r reports) version(c lab.Choice) string {
	if c.Own() {
		return r.build
	}
	return simulatorVersion
}

func (r reports) key(scenario string, from time.Duration, c lab.Choice, seed uint64) string {
	return hash("matrix", scenario, from.String(), c.String(), strconv.FormatUint(seed, 10), r.version(c))
}

// Known implements lab.Reports.
func (r reports) Known(scenario string, from time.Duration, c lab.Choice, seed uint64) (sim.Report, bool) {
	one, ok := r.find(r.key(scenario, from, c, seed))
	if !ok || one.Report == nil {
		return sim.Report{}, false
	}
	return *one.Report, true
}

// Keep implements lab.Reports.
func (r reports) Keep(scenario string, from time.Duration, c lab.Choice, seed uint64, report sim.Report) {
	r.put(kept{Key: r.key(scenario, from, c, seed), Scenario: scenario, Policy: c.String(), Version: r.version(c), Report: &report})
}
