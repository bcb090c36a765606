package engineargs

import (
	"strings"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// The defaults of vLLM, as published.
const (
	defaultBlockSize = 16
	defaultMaxSeqs   = 256
	defaultMemory    = 0.9
	defaultKVType    = "auto"
	batchedTokensV1  = 8192
	batchedTokensV0  = 2048
	envV1            = "VLLM_USE_V1"
	disabled         = "0"
	serve            = "serve" // the command of vllm before the name of the model
)

// Arguments are those of a vLLM server that bound a replica or describe its model.
type Arguments struct {
	GPUMemoryUtilization float64 // ratio in (0, 1]
	BlockSize            int     // tokens in a block of the KV cache
	KVCacheType          string  // "auto" for the type of the model
	TensorParallelSize   int     // accelerators over which a model is spread
	BlocksOverride       int     // blocks of the KV cache, 0 where the engine counts them
	MaxModelLength       int     // tokens of a request, 0 where the model says
	MaxBatchedTokens     int     // tokens of a step as given, 0 if not
	MaxSequences         int     // requests of a batch
	ChunkedPrefill       bool
	EnforceEager         bool
	Model                string // name or path, "" where the arguments name none
	Quantization         string // of the parameters, "" for that of the model
	Type                 string // of the parameters, "" for that of the model
	V1                   bool   // whether the engine is V1, not its predecessor
	// Invalid lists the flags with unreadable values, in their order. Their defaults apply.
	Invalid []string
}

// BatchedTokens returns the tokens of a step: as given, else the engine's default.
func (a Arguments) BatchedTokens() int {
	switch {
	case a.MaxBatchedTokens > 0:
		return a.MaxBatchedTokens
	case a.ChunkedPrefill && a.V1:
		return batchedTokensV1
	case a.ChunkedPrefill:
		return batchedTokensV0
	}
	return max(a.MaxModelLength, batchedTokensV0)
}

// Limits returns the limits of a replica by its arguments.
func (a Arguments) Limits() scaling.EngineLimits {
	return scaling.EngineLimits{BatchTokens: a.BatchedTokens(), MaxBatch: a.MaxSequences}
}

// Loaded returns what the arguments say of the model that is loaded.
func (a Arguments) Loaded() scaling.Loaded {
	l := scaling.Loaded{Model: a.Model, Quantization: a.Quantization, Type: a.Type, Memory: a.GPUMemoryUtilization}
	if a.KVCacheType != defaultKVType {
		l.KVType = a.KVCacheType
	}
	if a.TensorParallelSize > 1 {
		l.Accelerators = scaling.Accelerators(a.TensorParallelSize)
	}
	return l
}

// Parse reads the command and the arguments of a container whose environment has VLLM_USE_V1 set to
// v1; "" means not set.
func Parse(command, args []string, v1 string) Arguments {
	a := Arguments{
		GPUMemoryUtilization: defaultMemory, BlockSize: defaultBlockSize, KVCacheType: defaultKVType, TensorParallelSize: 1,
		MaxSequences: defaultMaxSeqs, V1: strings.TrimSpace(v1) != disabled,
	}
	words := split(append(append([]string{}, command...), args...))
	for _, w := range words {
		if value, ok := strings.CutPrefix(w, envV1+"="); ok { // set in a command for a shell
			a.V1 = value != disabled
		}
	}
	a.ChunkedPrefill = a.V1
	for i := 0; i < len(words); i++ {
		flag, value, given := strings.Cut(words[i], "=")
		if !strings.HasPrefix(flag, "-") {
			if i > 0 && words[i-1] == serve && len(words[i]) <= longestText {
				a.Model = words[i]
			}
			continue
		}
		f, known := flags[name(flag)]
		if !known {
			continue
		}
		if !given && !f.alone && i+1 < len(words) && !strings.HasPrefix(words[i+1], "--") {
			i++
			value = words[i]
		}
		if !f.set(&a, value) {
			a.Invalid = append(a.Invalid, flag)
		}
	}
	return a
}

// Flags returns the flags of a command line of any engine, known or not: by name without leading
// dashes and with dashes for underscores, with their values, "" for none. The last of several
// values of a flag counts.
func Flags(command, args []string) map[string]string {
	given, before := map[string]string{}, ""
	for _, w := range split(append(append([]string{}, command...), args...)) {
		if !strings.HasPrefix(w, "-") {
			if before != "" {
				given[before] = w
			}
			before = ""
			continue
		}
		flag, value, joined := strings.Cut(w, "=")
		given[name(flag)] = value
		if before = name(flag); joined {
			before = ""
		}
	}
	return given
}

// name returns the name of a flag as it is looked up.
func name(flag string) string {
	return strings.ReplaceAll(strings.TrimLeft(flag, "-"), "_", "-")
}
