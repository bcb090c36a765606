package soak

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
	duration = flag.Duration("soak", 0, "judge random cases by all rules for so long; 0 judges a fixed number")
	seed     = flag.Uint64("seed", 0, "the first seed of -soak; 0 draws one")
	cases    = flag.Int("cases", race.Cases(fixedCases), "how many fixed cases to judge")
)

const (
	// fixedCases take about half a minute on one core.
	fixedCases = 100
	// fixedRequests are those that are judged request by request too.
	fixedRequests = 4
	// reductions is how many cases one violation may be made smaller by.
	reductions = 150
	// enough is how many violations one run makes smaller: the first of each rule and
	// engine.
	enough = 20
	// rare is the part of -soak's cases that may exceed a limit.
	rare = 0.01
)

// TestSoak judges random cases: seeds 1 and up, as many as take half a minute, which all keep all
// rules; or with -soak random ones for as long as it says. Of those, rare ones may exceed a limit,
// which is reported with the smallest case all the same.
func TestSoak(t *testing.T) {
	var needs Needs
	first, until := uint64(1), time.Time{}
	if *duration > 0 {
		until = time.Now().Add(*duration)
		if first = *seed; first == 0 {
			first = rand.Uint64N(1 << 40)
		}
		t.Logf("seeds from %d on", first)
	}
	hours, found, beyond, began := time.Duration(0), 0, 0, time.Now()
	explained := map[string]bool{}
	n := 0
	for ; *duration > 0 && time.Now().Before(until) || *duration == 0 && n < *cases; n++ {
		c := Draw(first + uint64(n))
		hours += c.Length
		for _, v := range Judge(c, &needs) {
			found++
			if *duration > 0 && v.Rule.Limit() {
				beyond++
			} else {
				t.Fail()
			}
			kind := string(v.Rule) + " " + c.Engine
			if !explained[kind] && len(explained) < enough {
				explained[kind] = true
				explain(t, first+uint64(n), c, v, &needs)
			} else {
				t.Logf("seed %d, %s: %s", first+uint64(n), c.Engine, v)
			}
		}
	}
	t.Logf("%d cases, %.0f hours of cycles in %s: %d violations, of which %d of a limit", n, hours.Hours(), time.Since(began).Round(time.Millisecond), found, beyond)
	if allowed := max(1, int(rare*float64(n))); beyond > allowed {
		t.Errorf("%d times a case exceeds a limit, at most %d of %d may", beyond, allowed, n)
	}
}

// explain reports a violation with the smallest case that shows it.
func explain(t *testing.T, seed uint64, c Case, v Violation, needs *Needs) {
	t.Helper()
	c.Length = min(c.Length, v.At+c.Tick)
	last := v
	small := Reduce(c, reductions, func(c Case) bool {
		i := slices.IndexFunc(judge(c, needs, v.Rule), func(o Violation) bool { return o.Rule == v.Rule })
		if i >= 0 {
			last = judge(c, needs, v.Rule)[i]
		}
		return i >= 0
	})
	t.Logf("seed %d: %s\nSmallest case, for testdata/NAME.txt:\n\n# %s, from seed %d\n%s\n%s", seed, v, v.Rule, seed, small, last)
}

// TestFoundCasesStayMended judges the cases of testdata, each of which a core of
// another day violated a rule in.
func TestFoundCasesStayMended(t *testing.T) {
	var needs Needs
	for _, file := range race.Some(found(t)) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			for _, v := range Judge(read(t, file), &needs) {
				t.Error(v)
			}
		})
	}
}

// found lists the files of cases.
func found(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases in testdata: %v", err)
	}
	return files
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
