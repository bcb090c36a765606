package tenants

import (
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/race"
)

var (
	duration = flag.Duration("soak", 0, "judge random cases for so long; 0 judges -cases fixed ones")
	seed     = flag.Uint64("seed", 0, "the first seed of -soak; 0 draws one")
	cases    = flag.Int("cases", 9, "how many fixed cases to judge")
)

const (
	// reductions is how many cases one violation may be made smaller by, and patience for
	// how long.
	reductions, patience = 60, time.Minute
	// enough is how many violations one run makes smaller.
	enough = 10
)

// measured says that time and memory are judged, of which the race detector takes more.
const measured = !race.Enabled

// TestNoTenantHurtsAnother judges cases: seeds 1 and up with -cases, or with -soak random
// ones for as long as it says.

func TestNoTenantHurtsAnother(t *testing.T) {
	first, until := uint64(1), time.Time{}
	if *duration > 0 {
		until = time.Now().Add(*duration)
		if first = *seed; first == 0 {
			first = rand.Uint64N(1 << 40)
		}
		t.Logf("seeds from %d on", first)
	}
	var honest Honest
	explained, found, n, began := map[Rule]int{}, 0, 0, time.Now()
	for ; *duration > 0 && time.Now().Before(until) || *duration == 0 && n < *cases; n++ {
		c := Draw(first + uint64(n))
		for _, v := range Judge(t, c, &honest, measured) {
			found++
			if explained[v.Rule]++; explained[v.Rule] <= 2 && len(explained) < enough {
				describe(t, first+uint64(n), c, v, &honest)
			} else {
				t.Errorf("seed %d: %s", first+uint64(n), v)
			}
		}
	}
	t.Logf("%d cases in %s: %d violations", n, time.Since(began).Round(time.Millisecond), found)
}

// describe reports a violation with the smallest case that shows it.
func describe(t *testing.T, seed uint64, c Case, v Violation, honest *Honest) {
	t.Helper()
	last, until := v, time.Now().Add(patience)
	small := Reduce(c, reductions, func(c Case) bool {
		if time.Now().After(until) {
			return false
		}
		found := Judge(t, c, honest, v.Rule == Time || v.Rule == Memory)
		i := slices.IndexFunc(found, func(o Violation) bool { return o.Rule == v.Rule })
		if i >= 0 {
			last = found[i]
		}
		return i >= 0
	})
	t.Errorf("seed %d: %s\nSmallest case, for testdata/NAME.txt:\n\n# %s, from seed %d\n%s\n%s", seed, v, v.Rule, seed, small, last)
}

// TestFoundCasesStayMended judges the cases of testdata, each of which a manager of
// another day violated a rule in.
func TestFoundCasesStayMended(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases in testdata: %v", err)
	}
	var honest Honest
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			for _, v := range Judge(t, read(t, file), &honest, measured) {
				t.Error(v)
			}
		})
	}
}

func read(t *testing.T, file string) Case {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Parse(string(text))
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return c
}
