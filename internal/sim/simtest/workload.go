package simtest

import (
	"iter"
	"math/rand/v2"
	"testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/serving"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/workload"
)

// Profile returns roughly the profile of an 8B model on an L40S, with a KV cache of so many tokens,
// which one request may fill.
func Profile(kvCacheTokens int) serving.Profile {
	return serving.Profile{
		Name: "8b", Accelerator: "L40S", AlphaMS: 18, BetaMS: 0.35, GammaMS: 12, DeltaMS: 0.055,
		MaxBatchSize: 64, MaxBatchedTokens: 2048, KVCacheTokens: kvCacheTokens, BlockSize: 16, MaxModelLen: kvCacheTokens,
	}
}

// Slower returns p with every time multiplied by times.
func Slower(p serving.Profile, times float64) serving.Profile {
	p.AlphaMS, p.BetaMS, p.GammaMS, p.DeltaMS = p.AlphaMS*times, p.BetaMS*times, p.GammaMS*times, p.DeltaMS*times
	return p
}

// Rates reads arrival rates over time, such as constant(8,10m).
func Rates(tb testing.TB, text string) workload.Profile {
	tb.Helper()
	p, err := workload.ParseProfile(text)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// Lengths returns lengths as in chat, with the given means in tokens.
func Lengths(tb testing.TB, input, output float64) workload.Lengths {
	tb.Helper()
	l, err := workload.ChatLengths(input, output)
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

// Alike returns lengths that never differ, in tokens.
func Alike(tb testing.TB, input, output int) workload.Lengths {
	tb.Helper()
	l, err := workload.ConstantLengths(input, output)
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

// ShareGPT returns the lengths of that collection of chats.
func ShareGPT(tb testing.TB) workload.Lengths {
	tb.Helper()
	return Lengths(tb, workload.ShareGPTInputMean, workload.ShareGPTOutputMean)
}

// Chat returns requests at the given rates with the lengths of ShareGPT. The sequence can be read
// once.
func Chat(tb testing.TB, rates string, seed uint64) iter.Seq2[workload.Request, error] {
	tb.Helper()
	return workload.WithoutError(workload.Generate(Rates(tb, rates), ShareGPT(tb), rand.New(rand.NewPCG(seed, 0))))
}
