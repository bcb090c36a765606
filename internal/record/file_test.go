package record

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// journal is a log, and what is lost.
type journal struct {
	lines []string
	lost  int
}

func (j *journal) options(path string, most int64) FileOptions {
	log := funcr.New(func(_, args string) { j.lines = append(j.lines, args) }, funcr.Options{})
	return FileOptions{Path: path, MaxBytes: most, Log: log, Lost: func() { j.lost++ }}
}

func cycleNumber(n int) Cycle {
	return Cycle{Format: Format, Cycle: scaling.CycleID(fmt.Sprintf("p-%d", n)), Now: time.Unix(int64(n), 0).UTC()}
}

// written keeps cycles and returns when they are in the file.
func written(t *testing.T, o FileOptions, cycles ...Cycle) {
	t.Helper()
	f, err := NewFile(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cycles {
		f.Keep(c)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := f.Run(ended); err != nil {
		t.Fatal(err)
	}
}

// read returns the names of the cycles in a file, and the errors between them.
func read(t *testing.T, path string) []string {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var out []string
	for c, err := range Read(file) {
		if err != nil {
			out = append(out, err.Error())
			continue
		}
		out = append(out, string(c.Cycle))
	}
	return out
}

func TestAFileIsGoneOnWith(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cycles.jsonl")
	var j journal
	for n := range 3 {
		written(t, j.options(path, 1<<20), cycleNumber(n))
	}
	if diff := cmp.Diff([]string{"p-0", "p-1", "p-2"}, read(t, path)); diff != "" {
		t.Errorf("cycles (-want +got):\n%s", diff)
	}
	if j.lost > 0 || len(j.lines) > 0 {
		t.Errorf("lost %d, said %q", j.lost, j.lines)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got %v, %v; want a file for its owner alone", info.Mode(), err)
	}
}

func TestTwoFilesAreWithinTheBoundAndHoldTheLatest(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cycles.jsonl")
	most := 3*int64(len(cycleNumber(10).Append(nil))+1) + 1
	var j journal
	for n := 10; n < 18; n++ {
		written(t, j.options(path, most), cycleNumber(n))
		for _, name := range []string{path, path + ".1"} {
			if info, err := os.Stat(name); err == nil && info.Size() > most {
				t.Errorf("%s has %d bytes, at most %d are allowed", name, info.Size(), most)
			}
		}
	}
	if diff := cmp.Diff([]string{"p-13", "p-14", "p-15", "p-16", "p-17"}, append(read(t, path+".1"), read(t, path)...)); diff != "" {
		t.Errorf("cycles (-want +got):\n%s", diff)
	}
}

func TestATornLineIsNamedAndNotContinued(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cycles.jsonl")
	var j journal
	written(t, j.options(path, 1<<20), cycleNumber(1), cycleNumber(2))
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, info.Size()-9); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"p-1", "line 2: the line is torn: it ends within its record"}, read(t, path)); diff != "" {
		t.Errorf("cycles (-want +got):\n%s", diff)
	}
	written(t, j.options(path, 1<<20), cycleNumber(3))
	if diff := cmp.Diff([]string{"p-1", "line 2: the line is torn: it ends within its record", "p-3"}, read(t, path)); diff != "" {
		t.Errorf("cycles after another process (-want +got):\n%s", diff)
	}
}

func TestKeepNeverWaitsForTheDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cycles.jsonl")
	var j journal
	f, err := NewFile(j.options(path, 1<<20)) // and its Run is not called: a disk that hangs
	if err != nil {
		t.Fatal(err)
	}
	for n := range queued + 5 {
		f.Keep(cycleNumber(n))
	}
	if j.lost != 5 || len(j.lines) != 1 || !strings.Contains(j.lines[0], "8 cycles wait to be written already") {
		t.Errorf("lost %d, said %q; want 5, and said once", j.lost, j.lines)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := f.Run(ended); err != nil {
		t.Fatal(err)
	}
	if got := read(t, path); len(got) != queued {
		t.Errorf("read %q, want what waited", got)
	}
	if len(j.lines) != 2 || !strings.Contains(j.lines[1], "recorded again") {
		t.Errorf("said %q, want that cycles are recorded again", j.lines)
	}
}

func TestEveryCycleIsWrittenOrCounted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cycles.jsonl")
	var lost atomic.Int64
	f, err := NewFile(FileOptions{Path: path, MaxBytes: 1 << 20, Lost: func() { lost.Add(1) }})
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	var keeping, running sync.WaitGroup
	running.Go(func() {
		if err := f.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	for k := range 4 {
		keeping.Go(func() {
			for n := range 100 {
				f.Keep(cycleNumber(100*k + n))
			}
		})
	}
	keeping.Wait()
	end()
	running.Wait()
	names := read(t, path)
	if got := int64(len(names)) + lost.Load(); got != 400 {
		t.Errorf("%d cycles were written and %d lost, of 400", len(names), lost.Load())
	}
	for _, name := range names {
		if !strings.HasPrefix(name, "p-") {
			t.Errorf("read %s", name)
		}
	}
}

func TestAFullDiskLosesWhatDoesNotFitAndSaysSoOnce(t *testing.T) {
	const full = "/dev/full" // Linux: every write fails with ENOSPC
	if _, err := os.Stat(full); err != nil {
		t.Skip(err)
	}
	var j journal
	f := &File{options: j.options(full, 1<<20), disk: disk{path: full, most: 1 << 20}}
	if err := f.disk.open(); err != nil {
		t.Skip(err)
	}
	for n := range 3 {
		f.write(cycleNumber(n))
	}
	if j.lost != 3 || len(j.lines) != 1 || !strings.Contains(j.lines[0], "no space left") {
		t.Errorf("lost %d, said %q; want 3, and the reason once", j.lost, j.lines)
	}
}

func TestARecordLargerThanTheBoundIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cycles.jsonl")
	d := disk{path: path, most: 10}
	if err := d.write([]byte("0123456789\n")); !errors.Is(err, ErrTooLarge) {
		t.Errorf("got %v, want %v", err, ErrTooLarge)
	}
	if err := d.write([]byte("01234567\n")); err != nil {
		t.Error(err)
	}
}

func TestAFileThatIsTakenAwayIsNoReasonToStop(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "records")
	path := filepath.Join(dir, "cycles.jsonl")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	d := disk{path: path, most: 20}
	for range 2 {
		if err := d.write([]byte("0123456789\n")); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := d.write([]byte("0123456789\n")); err == nil {
		t.Error("began anew without its folder")
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := d.write([]byte("0123456789\n")); err != nil {
		t.Errorf("with its folder back: %v", err)
	}
}
