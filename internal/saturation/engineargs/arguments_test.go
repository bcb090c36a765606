package engineargs

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/goldentest"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// TestGoldenArguments compares with the recorded cases, where they are available.
func TestGoldenArguments(t *testing.T) {
	type inputs struct {
		V1            string `json:"VLLM_USE_V1"`
		Command, Args []string
	}
	type expected struct {
		BlockSize, EffectiveMaxBatchedTokens, MaxModelLen, MaxNumBatchedTokens, MaxNumSeqs int
		NumGpuBlocksOverride, TensorParallelSize                                           int
		ChunkedPrefillEnabled, EnforceEager, IsV1Engine                                    bool
		GpuMemoryUtilization                                                               float64
		KvCacheDtype                                                                       string
	}
	for _, c := range goldentest.Read[inputs, expected](t, "vllm-args") {
		a := Parse(c.Inputs.Command, c.Inputs.Args, c.Inputs.V1)
		got := expected{
			a.BlockSize, a.BatchedTokens(), a.MaxModelLength, a.MaxBatchedTokens, a.MaxSequences, a.BlocksOverride,
			a.TensorParallelSize, a.ChunkedPrefill, a.EnforceEager, a.V1, a.GPUMemoryUtilization, a.KVCacheType,
		}
		if diff := cmp.Diff(c.Expected, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c, diff)
		}
	}
}

func TestArgumentsAreReadInEveryShape(t *testing.T) {
	limits := func(tokens, batch int) scaling.EngineLimits {
		return scaling.EngineLimits{BatchTokens: tokens, MaxBatch: batch}
	}
	for _, tc := range []struct {
		name          string
		command, args []string
		v1            string
		want          scaling.EngineLimits
	}{
		{"nothing", nil, nil, "", limits(8192, 256)},
		{"the last of two wins", nil, []string{"--max-num-seqs", "8", "--max-num-seqs=16"}, "", limits(8192, 16)},
		{"a shell's string", []string{"/bin/sh", "-c"}, []string{`vllm serve "meta/x y" --max-num-seqs=32 --max-num-batched-tokens '4096'`}, "", limits(4096, 32)},
		{"a shell's string over lines", []string{"bash", "-lc", "vllm serve m \\\n  --max-num-seqs 12"}, nil, "", limits(8192, 12)},
		{"the variable in a shell's string", []string{"sh", "-c", "VLLM_USE_V1=0 vllm serve m --max-model-len 9000"}, nil, "", limits(9000, 256)},
		{"numbers in short", nil, []string{"--max-num-batched-tokens=16K", "--max-num-seqs", "1k"}, "", limits(16384, 1000)},
		{"chunks on the engine before", nil, []string{"--enable-chunked-prefill"}, "0", limits(2048, 256)},
		{"no chunks", nil, []string{"--no-enable-chunked-prefill", "--max-model-len=4096"}, "", limits(4096, 256)},
		{"no chunks, said by a value", nil, []string{"--enable-chunked-prefill=False"}, "", limits(2048, 256)},
		{"a flag without its value", nil, []string{"--max-num-seqs", "--enforce-eager"}, "", limits(8192, 256)},
		{"a flag at the end", nil, []string{"--max-num-seqs"}, "", limits(8192, 256)},
	} {
		if got := Parse(tc.command, tc.args, tc.v1).Limits(); got != tc.want {
			t.Errorf("%s: got %+v, want %+v", tc.name, got, tc.want)
		}
	}
}

func TestWhatIsLoadedIsRead(t *testing.T) {
	for _, tc := range []struct {
		name string
		args []string
		want scaling.Loaded
	}{
		{"nothing", nil, scaling.Loaded{Memory: 0.9}},
		{"the model of a command", []string{"serve", "Qwen/Qwen3-32B", "--port", "8000"}, scaling.Loaded{Model: "Qwen/Qwen3-32B", Memory: 0.9}},
		{"a flag after it", []string{"serve", "--model", "m", "--quantization=awq"}, scaling.Loaded{Model: "m", Quantization: "awq", Memory: 0.9}},
		{"the default KV cache", []string{"--kv-cache-dtype", "auto", "-tp", "4", "--dtype=half"}, scaling.Loaded{Type: "half", Memory: 0.9, Accelerators: 4}},
		{"too long a name", []string{"serve", strings.Repeat("m", 300), "--dtype", strings.Repeat("f", 300)}, scaling.Loaded{Memory: 0.9}},
	} {
		if got := Parse(nil, tc.args, "").Loaded(); got != tc.want {
			t.Errorf("%s: got %+v, want %+v", tc.name, got, tc.want)
		}
	}
}

func TestValuesThatCannotBeReadAreNamed(t *testing.T) {
	got := Parse(nil, []string{"--max-num-seqs=many", "--block-size", "-3", "--gpu-memory-utilization=1.5", "--max-model-len=0", "--enforce-eager=maybe"}, "")
	want := []string{"--max-num-seqs", "--block-size", "--gpu-memory-utilization", "--max-model-len", "--enforce-eager"}
	if diff := cmp.Diff(want, got.Invalid); diff != "" {
		t.Errorf("invalid (-want +got):\n%s", diff)
	}
	if got.MaxSequences != 256 || got.BlockSize != 16 || got.GPUMemoryUtilization != 0.9 {
		t.Errorf("defaults do not hold: %+v", got)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("--max-num-seqs=8", "sh", "0")
	f.Add(`vllm serve --max-num-batched-tokens '4k`, "-c", "")
	f.Fuzz(func(t *testing.T, first, second, v1 string) {
		a := Parse([]string{second}, []string{first, second, first}, v1)
		l := a.Limits()
		if l.BatchTokens < 1 || l.MaxBatch < 1 || a.BlockSize < 1 || !(a.GPUMemoryUtilization > 0 && a.GPUMemoryUtilization <= 1) {
			t.Errorf("out of range: %+v", a)
		}
	})
}
