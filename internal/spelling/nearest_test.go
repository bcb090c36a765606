package spelling

import (
	"slices"
	"strings"
	"testing"
)

func TestNearestIsOneSlipAway(t *testing.T) {
	known := []string{"kvCacheThreshold", "queueLengthThreshold", "engine", "GLOBAL_OPT_INTERVAL"}
	for name, want := range map[string]string{
		"kvCacheTreshold":          "kvCacheThreshold",
		"kv-cache-threshold":       "kvCacheThreshold",
		"KVCACHETHRESHOLD":         "kvCacheThreshold",
		"enigne":                   "engine",
		"queueDepthThreshold":      "queueLengthThreshold",
		"globalOptInterval":        "GLOBAL_OPT_INTERVAL",
		"SafetyMargin":             "",
		"":                         "",
		strings.Repeat("x", 1<<20): "",
	} {
		if got := Nearest(name, known); got != want {
			t.Errorf("%.30q: got %q, want %q", name, got, want)
		}
	}
}

func TestALongNameHasNoNearest(t *testing.T) {
	for _, n := range []int{longest + 1, 1 << 20} {
		name := strings.Repeat("a", n)
		if got := Nearest(name, []string{name + "b", name}); got != "" {
			t.Errorf("%d bytes: got a name of %d bytes, want none", n, len(got))
		}
	}
	most := strings.Repeat("a", longest-1)
	if got, want := Nearest(most+"b", []string{most + "bb", most + "c"}), most+"c"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestTheWorkOfASearchIsBounded takes a minute where it is not.
func TestTheWorkOfASearchIsBounded(t *testing.T) {
	name, near := strings.Repeat("a", longest), "a"+strings.Repeat("b", longest-1)
	known := append(slices.Repeat([]string{near}, 1_000_000), name)
	if got := Nearest(name, known); got != "" {
		t.Errorf("got %q, which stands behind a million names", got)
	}
	if got := Nearest(name, append(known[:mostWork/longest/longest/2:mostWork/longest/longest/2], name)); got != name {
		t.Errorf("got %q, want the name itself", got)
	}
}

func TestOfEqualsTheFirstIsNearest(t *testing.T) {
	if got := Nearest("abcx", []string{"abcd", "abce"}); got != "abcd" {
		t.Errorf("got %q, want abcd", got)
	}
}

func FuzzDistanceIsAMeasure(f *testing.F) {
	f.Add("kvCacheThreshold", "kv_cache_treshold")
	f.Add("", "x")
	f.Fuzz(func(t *testing.T, a, b string) {
		if len(a) > 64 || len(b) > 64 {
			return
		}
		d := distance(a, b)
		if d != distance(b, a) || (d == 0) != (a == b) || d > max(len(a), len(b)) || d < max(len(a), len(b))-min(len(a), len(b)) {
			t.Fatalf("distance(%q, %q) = %d", a, b, d)
		}
	})
}
