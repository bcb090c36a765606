package collector

import (
	"math"
	"strings"
	"testing"
)

func TestCutRank(t *testing.T) {
	for name, want := range map[string][2]string{
		"pod":               {"pod", ""},
		"pod-rank-0":        {"pod", "0"},
		"pod-rank-12":       {"pod", "12"},
		"pod-rank-":         {"pod-rank-", ""},
		"pod-rank-1x":       {"pod-rank-1x", ""},
		"a-rank-1-rank-2":   {"a-rank-1", "2"},
		"first-rank-models": {"first-rank-models", ""},
		"-rank-0":           {"", "0"},
	} {
		if pod, rank := cutRank(name); pod != want[0] || rank != want[1] {
			t.Errorf("%q: got %q, %q, want %q", name, pod, rank, want)
		}
	}
}

func TestLiveNameWithARankIsTakenAsWritten(t *testing.T) {
	x := podIndex{byKey: map[podKey]int{{"n", "p-rank-0"}: 0, {"n", "p"}: 1}}
	if i, rank, ok := x.pod(map[string]string{"namespace": "n", "pod": "p-rank-0"}); i != 0 || rank != "" || !ok {
		t.Errorf("got %d, %q, %v", i, rank, ok)
	}
}

func TestUnixTimeKeepsMilliseconds(t *testing.T) {
	if got := unixTime(1772366400.123).UnixMilli(); got != 1772366400123 {
		t.Errorf("got %d", got)
	}
	if got := unixTime(math.MaxFloat64); got.Unix() <= 0 {
		t.Errorf("got %s for the largest number", got)
	}
}

func FuzzCapacity(f *testing.F) {
	for _, seed := range [][3]string{{"16000", "", ""}, {"None", "10", "16"}, {"", "None", "16"}, {"-1", "1e308", "1e308"}, {"nan", "inf", "0x10"}} {
		f.Add(seed[0], seed[1], seed[2])
	}
	f.Fuzz(func(t *testing.T, tokens, blocks, size string) {
		got := capacity(map[string]string{"kv_cache_size_tokens": tokens, "num_gpu_blocks": blocks, "block_size": size})
		if math.IsInf(got, 0) || got < 0 {
			t.Errorf("capacity of %q, %q x %q is %v", tokens, blocks, size, got)
		}
		if got == 0 && positive(tokens) > 0 {
			t.Errorf("capacity of %q is 0", tokens)
		}
	})
}

func FuzzCutRank(f *testing.F) {
	f.Add("pod-rank-0")
	f.Fuzz(func(t *testing.T, name string) {
		pod, rank := cutRank(name)
		if rank == "" && pod != name || rank != "" && pod+"-rank-"+rank != name || strings.ContainsAny(rank, "-ranks ") {
			t.Errorf("%q: got %q, %q", name, pod, rank)
		}
	})
}
