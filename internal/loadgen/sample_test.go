package loadgen

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestPercentilesAreExactBelowTheBound(t *testing.T) {
	s := newSample(100, 1)
	for _, v := range rand.New(rand.NewPCG(1, 1)).Perm(100) {
		s.add(float64(v + 1))
	}
	want := Distribution{Count: 100, Mean: 50.5, P50: 50, P90: 90, P99: 99, Max: 100}
	if got := s.distribution(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := newSample(1, 1).distribution(); got != (Distribution{}) {
		t.Errorf("an empty sample has %+v", got)
	}
}

// TestReservoirKeepsPercentilesAboveTheBound adds 1 to 100,000 in order to a
// sample of 10,000: the rank of p50 has a standard deviation of 0.5 %, that of
// p99 0.1 %; 4 of each are allowed.
func TestReservoirKeepsPercentilesAboveTheBound(t *testing.T) {
	s := newSample(10_000, 1)
	for i := range 100_000 {
		s.add(float64(i + 1))
	}
	got := s.distribution()
	if len(s.kept) != 10_000 || got.Count != 100_000 || got.Mean != 50_000.5 || got.Max != 100_000 {
		t.Errorf("kept %d, got %+v", len(s.kept), got)
	}
	if math.Abs(got.P50-50_000) > 2000 || math.Abs(got.P99-99_000) > 400 {
		t.Errorf("p50 %g, p99 %g, want 50,000 ± 2000 and 99,000 ± 400", got.P50, got.P99)
	}
}

func TestPromptsHaveTheirWordsAndNoCommonPrefix(t *testing.T) {
	p := newPrompts()
	seen := map[string]bool{}
	for number := range uint64(200) {
		n := int(number) + 1
		words := strings.Fields(p.text(n, 7, number))
		if len(words) != n {
			t.Fatalf("asked for %d words, got %d", n, len(words))
		}
		if seen[words[0]] {
			t.Fatalf("the first word %q is used twice", words[0])
		}
		seen[words[0]] = true
	}
	first, again := p.text(50, 7, 3), p.text(50, 7, 3)
	if first != again {
		t.Error("the same request has two prompts")
	}
}

func FuzzStream(f *testing.F) {
	f.Add("data: {\"choices\":[{\"text\":\"a\"}]}\n\ndata: [DONE]\n\n")
	f.Add("data:{\"usage\":{\"completion_tokens\":-3}}\r\n: c\ndata: null\ndata: {\"error\":1}")
	f.Fuzz(func(t *testing.T, text string) {
		s := newStream(strings.NewReader(text))
		for range len(text) + 1 {
			if e, err := s.next(); err != nil || e.done {
				return
			}
		}
		t.Fatalf("%q has more events than bytes", text)
	})
}
