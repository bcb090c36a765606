package spelling

import (
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
