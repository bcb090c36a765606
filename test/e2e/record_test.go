//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/record"
	"github.com/llm-d-incubation/workload-variant-autoscaler/test/testbed"
)

// TestARecordedCycleIsDecidedAgainToTheSameBytes records the cycles of a manager
// while the load of a model rises, until one of them orders a replica, and has
// wva decide them again.
func TestARecordedCycleIsDecidedAgainToTheSameBytes(t *testing.T) {
	const ns = "record"
	path := filepath.Join(t.TempDir(), "cycles.jsonl")
	v := chat(ns, "cheap")
	deploy(t, v)
	restart(t, testbed.ManagerOptions{Interval: interval, Env: []string{"RECORD_FILE=" + path}})
	t.Cleanup(func() { restart(t, testbed.ManagerOptions{Interval: interval}) })
	condition(t, time.Minute, ns, "cheap", "Ready", "True", "Ready")
	load(t, ns, v.ModelID, "constant(12,600s)")
	eventually(t, 3*time.Minute, func(ctx context.Context) string {
		e, err := explained(ctx, shared.manager, ns, "cheap")
		if err != nil {
			return err.Error()
		}
		if e.Decision.Target() < 2 {
			return "no replica has been ordered"
		}
		return ""
	})
	shared.manager.Stop() // it writes what waits

	lines := recordedLines(t, path)
	ordered := grew(t, lines)
	if ordered == nil {
		t.Fatalf("none of %d recorded cycles orders a replica", len(lines))
	}

	// All of them, as one sees it.
	out, err := wva(t, nil, "replay", path)
	t.Logf("%d cycles, %d bytes the last:\n%s", len(lines), len(lines[len(lines)-1]), tail(out))
	if err != nil {
		t.Errorf("wva replay: %v", err)
	}
	if want := strconv.Itoa(len(lines)) + " of " + strconv.Itoa(len(lines)) + " cycles were decided to the same bytes."; !strings.Contains(out, want) {
		t.Errorf("wva replay does not say %q", want)
	}

	// The plan that ordered the replica, byte for byte, without being told it.
	recorded, err := record.Decode(ordered)
	if err != nil {
		t.Fatal(err)
	}
	plan := record.AppendPlan(nil, *recorded.Plan)
	if !bytes.HasSuffix(ordered, append(append([]byte(`"plan":`), plan...), '}')) {
		t.Fatal("the plan that was read is not the one in the file")
	}
	recorded.Plan = nil
	out, err = wva(t, recorded.Append(nil), "decide", "-f", "-", "-o", "json")
	if err != nil {
		t.Fatalf("wva decide: %v", err)
	}
	var decided bytes.Buffer
	if err := json.Compact(&decided, []byte(out)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(decided.Bytes(), plan) {
		t.Errorf("recorded %s\ndecided  %s", plan, decided.Bytes())
	}

	// And replay is not blind: what was not decided is noticed.
	forged := bytes.Replace(ordered, []byte(`"reason":"Saturated"`), []byte(`"reason":"Steady"`), 1)
	if out, err = wva(t, forged, "replay", "-"); err == nil || !strings.Contains(out, "0 of 1 cycles") {
		t.Errorf("a plan that was never decided passes:\n%s", out)
	}
}

// recordedLines returns the lines of a file, all of which must be whole.
func recordedLines(t *testing.T, path string) [][]byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasSuffix(text, []byte("\n")) {
		t.Fatal("the last line is torn, of a manager that was asked to end")
	}
	return bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
}

// grew returns the first line whose plan orders a replica of the variant.
func grew(t *testing.T, lines [][]byte) []byte {
	t.Helper()
	for _, line := range lines {
		c, err := record.Decode(line)
		if err != nil {
			t.Fatalf("%v in\n%s", err, line)
		}
		for _, d := range c.Plan.Decisions {
			if d.Variant.Namespace == "record" && d.Target() > d.Current {
				return line
			}
		}
	}
	return nil
}

// wva runs the command line as its users do, and returns what it prints.
func wva(t *testing.T, stdin []byte, args ...string) (string, error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), filepath.Join("..", "..", "bin", "wva"), args...)
	command.Stdin = bytes.NewReader(stdin)
	var out, warnings bytes.Buffer
	command.Stdout, command.Stderr = &out, &warnings
	err := command.Run()
	if warnings.Len() > 0 {
		t.Logf("wva %s says:\n%s", args[0], warnings.String())
	}
	return out.String(), err
}

// tail returns the last lines of a text.
func tail(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-8):], "\n")
}
