package hpa

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "write the answers of the controller anew")

const (
	sequences = 2000
	syncs     = 24
	// subset is how many sequences are asked for again in an ordinary test.
	subset = 300
)

// controllerVersion is the module that answers, as in go.mod.
const controllerVersion = "k8s.io/kubernetes v1.36.3"

// recorded is the file that internal/sim/policy replays.
var recorded = filepath.Join("..", "..", "..", "internal", "sim", "policy", "testdata", "hpa", "controller.json.gz")

// TestRecordedAnswersAreThoseOfTheController asks the controller again: a subset
// of the sequences, spread over the file.
func TestRecordedAnswersAreThoseOfTheController(t *testing.T) {
	if *update {
		write(t, File{Controller: controllerVersion, SyncMillis: int(syncPeriod.Milliseconds()), Sequences: answers(t, 0, sequences, syncs)})
	}
	file := read(t)
	if file.Controller != controllerVersion || len(file.Sequences) != sequences {
		t.Fatalf("%s has %d sequences of %s, want %d of %s: run with -update", recorded, len(file.Sequences), file.Controller, sequences, controllerVersion)
	}
	const parts = 3
	for part := range parts {
		from := part * (sequences - subset/parts) / (parts - 1)
		got := answers(t, from, from+subset/parts, syncs)
		for i := range got {
			a, b := text(t, got[i]), text(t, file.Sequences[from+i])
			if !bytes.Equal(a, b) {
				t.Fatalf("sequence %d: the controller says\n%s\nand %s has\n%s\nrun with -update", from+i, a, recorded, b)
			}
		}
	}
}

// TestRecordedSequencesCoverTheRules counts what the sequences meet, so that an
// unlucky draw does not leave a rule out.
func TestRecordedSequencesCoverTheRules(t *testing.T) {
	seen := map[string]int{}
	for _, s := range read(t).Sequences {
		if s.Up == nil {
			seen["no behavior"]++
		} else {
			seen["up "+s.Up.Select]++
			seen["down "+s.Down.Select]++
		}
		if len(s.Metrics) > 1 {
			seen["two metrics"]++
		}
		for _, m := range s.Metrics {
			seen[m.Kind]++
		}
		for _, n := range s.Syncs {
			switch {
			case n.Want > n.Spec:
				seen["grown"]++
			case n.Want < n.Spec:
				seen["shrunk"]++
			default:
				seen["held"]++
			}
			if n.Spec == 0 {
				seen["at zero"]++
			}
			if n.Spec > s.Max {
				seen["above the maximum"]++
			}
			if n.Status != n.Spec {
				seen["status lags"]++
			}
		}
	}
	for _, what := range []string{
		"no behavior", "up Max", "up Min", "up Disabled", "down Max", "down Min", "down Disabled", "two metrics",
		"AverageValue", "Value", "Pods", "grown", "shrunk", "held", "at zero", "above the maximum", "status lags",
	} {
		if seen[what] < 20 {
			t.Errorf("%s: %d times, want 20 or more", what, seen[what])
		}
	}
	t.Log(seen)
}

func write(t *testing.T, file File) {
	t.Helper()
	var buf bytes.Buffer
	z, err := gzip.NewWriterLevel(&buf, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := z.Write(text(t, file)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(recorded, buf.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T) File {
	t.Helper()
	f, err := os.Open(recorded)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var file File
	if err := json.NewDecoder(z).Decode(&file); err != nil {
		t.Fatalf("reading %s: %v", recorded, err)
	}
	return file
}

func text(t *testing.T, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
