package policy

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// recording is what the controller of Kubernetes itself answered. Package hpa of
// test/localcluster makes the file and describes it.
type recording struct {
	Controller string
	SyncMillis int
	Sequences  []recordedSequence
}

type recordedSequence struct {
	Min, Max scaling.Replicas
	Up, Down *recordedRules
	Metrics  []struct {
		Kind   string
		Target float64 // thousandths
	}
	Syncs []struct {
		Spec, Status scaling.Replicas
		Pods         string
		Values       [][]float64 // thousandths, -1 for none
		Want         scaling.Replicas
	}
}

type recordedRules struct {
	Window    int // seconds
	Select    string
	Tolerance int // thousandths, -1 for the controller's own
	Policies  []struct {
		Percent bool
		Value   scaling.Replicas
		Period  int
	}
}

// TestHPADoesWhatTheControllerOfKubernetesDid replays the recording: the same
// replicas at every sync.
func TestHPADoesWhatTheControllerOfKubernetesDid(t *testing.T) {
	r := readRecording(t)
	syncs, wrong := 0, 0
	for i, s := range r.Sequences {
		hpa, tolerance := s.hpa()
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		for k, sync := range s.Syncs {
			syncs++
			now = now.Add(time.Duration(r.SyncMillis) * time.Millisecond)
			got, why := hpa.Reconcile(now, Scale{Spec: sync.Spec, Bounds: scaling.Bounds{Min: s.Min, Max: s.Max}}, s.proposals(now, k, tolerance))
			if got == sync.Want {
				continue
			}
			if wrong++; wrong <= 10 {
				t.Errorf("sequence %d, sync %d: %d replicas (%s), the controller said %d; %+v; bounds [%d, %d], tolerance %v, metrics %v",
					i, k, got, why, sync.Want, sync, s.Min, s.Max, tolerance, s.Metrics)
			}
			break // what follows remembers the difference
		}
	}
	t.Logf("%d sequences of %s, %d syncs, %d sequences differ", len(r.Sequences), r.Controller, syncs, wrong)
	if syncs < 10000 {
		t.Errorf("%d syncs were compared, want 10000 or more", syncs)
	}
}

// hpa returns the object of a sequence.
func (s recordedSequence) hpa() (*HPA, Tolerance) {
	tolerance := DefaultTolerance()
	if s.Up == nil {
		return &HPA{}, tolerance
	}
	return &HPA{Behavior: &Behavior{Up: s.Up.rules(&tolerance.Up), Down: s.Down.rules(&tolerance.Down)}}, tolerance
}

// rules returns one direction, and sets its tolerance if it has one.
func (r recordedRules) rules(tolerance *float64) Rules {
	out := Rules{
		Window: time.Duration(r.Window) * time.Second,
		Select: map[string]Select{"Max": MaxChange, "Min": MinChange, "Disabled": Disabled}[r.Select],
	}
	for _, p := range r.Policies {
		out.Policies = append(out.Policies, Limit{Percent: p.Percent, Value: p.Value, Period: time.Duration(p.Period) * time.Second})
	}
	if r.Tolerance >= 0 {
		*tolerance = float64(r.Tolerance) / 1000
	}
	return out
}

// proposals are what the metrics of a sequence ask for at a sync, as the
// policies of this package compute it.
func (s recordedSequence) proposals(now time.Time, k int, tolerance Tolerance) []Proposal {
	sync := s.Syncs[k]
	out := make([]Proposal, len(s.Metrics))
	for j, m := range s.Metrics {
		read := func(value float64) scaling.Reading {
			if value < 0 {
				return scaling.Reading{}
			}
			return scaling.Measured(value/1000, scaling.Fresh)
		}
		var v Variant
		v.Replicas.Current = sync.Spec
		for i, state := range sync.Pods {
			pod := Pod{Name: fmt.Sprint(i), Ready: state == 'r', Unstarted: state == 'p'}
			if m.Kind == "Pods" {
				pod.KVCacheUsage = read(sync.Values[j][i])
			}
			if pod.Ready {
				v.Replicas.Ready++
			}
			v.Pods = append(v.Pods, pod)
		}
		one := metric{name: m.Kind, target: fixed(m.Target / 1000)}
		switch m.Kind {
		case "Pods":
			one.pod = kvCacheUsage
		default:
			one.value = m.Kind == "Value"
			one.total = func(time.Time, Observation, Variant) scaling.Reading { return read(sync.Values[j][0]) }
		}
		if m.Kind == "AverageValue" {
			v.Replicas.Current = sync.Status // elsewhere the two are the same
		}
		out[j] = one.propose(now, Observation{}, v, tolerance)
	}
	return out
}

func readRecording(t *testing.T) recording {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "hpa", "controller.json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var r recording
	if err := json.NewDecoder(z).Decode(&r); err != nil {
		t.Fatalf("reading %s: %v", f.Name(), err)
	}
	return r
}
