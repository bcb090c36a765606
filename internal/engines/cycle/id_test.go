package cycle

import (
	"context"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

func TestCyclesOfManyProcessesAreToldApart(t *testing.T) {
	form := regexp.MustCompile(`^[a-z2-9]{8}-[1-9][0-9]*$`)
	r := rand.New(rand.NewPCG(1, 2))
	seen := map[scaling.CycleID]bool{}
	for range 1000 { // restarts and other leaders
		w := &world{}
		c := newCycle(w)
		c.Process = NewProcess(r)
		for range 3 {
			if err := c.Run(t.Context(), time.Minute); err != nil {
				t.Fatal(err)
			}
			if this := w.last.Cycle; seen[this] || !form.MatchString(string(this)) {
				t.Fatalf("cycle %q, seen before: %t", this, seen[this])
			}
			seen[w.last.Cycle] = true
		}
	}
}

// talking is a world whose collector logs.
type talking struct{ *world }

func (w talking) Collect(ctx context.Context, fleet scaling.Fleet) []scaling.Snapshot {
	logr.FromContextOrDiscard(ctx).Info("collecting")
	return w.world.Collect(ctx, fleet)
}

func TestEveryLineOfACycleNamesIt(t *testing.T) {
	var lines []string
	ctx := logr.NewContext(t.Context(), funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{Verbosity: 1}))
	w := &world{fault: "connection refused"}
	c := newCycle(w)
	c.Collector = talking{w}
	if err := c.Run(ctx, time.Minute); err != nil {
		t.Fatal(err)
	}
	if len(lines) != 4 { // collecting, the decision, the end, the fault
		t.Errorf("got %d lines: %q", len(lines), lines)
	}
	for _, line := range lines {
		if !strings.Contains(line, `"cycle"="p-1"`) {
			t.Errorf("no cycle in %s", line)
		}
	}
}

// TestProcessNamesUseAllLetters: there are as many names as the length allows.
func TestProcessNamesUseAllLetters(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	used := map[rune]bool{}
	for range 100 {
		for _, letter := range NewProcess(r) {
			used[letter] = true
		}
	}
	if slices.ContainsFunc([]rune(letters), func(l rune) bool { return !used[l] }) {
		t.Errorf("of %q only %d letters are used", letters, len(used))
	}
}
