package roofline

import (
	"cmp"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Model is what the speed of a model depends on.
type Model struct {
	Parameters float64 // 10^9, all of them
	Active     float64 // 10^9, those that compute one token: fewer than all in a mixture of experts
	Layers     float64
	KV         float64 // numbers of the KV cache for one token
	Bits       float64 // of a parameter
	KVBits     float64 // of a number of the KV cache
}

// known lists models whose names do not state their size, or only a part of it, by words of the
// name. Longer names come before shorter ones. Sizes are from the pages of the models on Hugging
// Face and from their reports. A 0 is estimated.
var known = []struct {
	name   string
	of     Model
	always bool // whether it replaces the size in a name, which may be rounded or of one expert
}{
	{"mixtral-8x7b", Model{46.7, 12.9, 32, 65536, 0, 0}, true},
	{"mixtral-8x22b", Model{141, 39, 56, 114688, 0, 0}, true},
	{"scout-17b", Model{109, 17, 48, 98304, 0, 0}, true},
	{"maverick-17b", Model{400, 17, 48, 98304, 0, 0}, true},
	{"gpt-oss-20b", Model{20.9, 3.6, 24, 24576, 5, 0}, true},
	{"gpt-oss-120b", Model{116.8, 5.1, 36, 36864, 4.3, 0}, true},
	{"gemma-3n-e4b", Model{8, 4, 35, 17920, 0, 0}, true},
	{"gemma-3n-e2b", Model{6, 2, 30, 15360, 0, 0}, true},
	{"llama-2-7b", Model{6.7, 6.7, 32, 262144, 0, 0}, true},
	{"llama-2-13b", Model{13, 13, 40, 409600, 0, 0}, true},
	{"codellama-7b", Model{6.7, 6.7, 32, 262144, 0, 0}, true},
	{"codellama-13b", Model{13, 13, 40, 409600, 0, 0}, true},
	{"qwen2.5-7b", Model{7.6, 7.6, 28, 28672, 0, 0}, true},
	{"qwen2.5-3b", Model{3.1, 3.1, 36, 18432, 0, 0}, true},
	{"scout", Model{109, 17, 48, 98304, 0, 0}, false},
	{"maverick", Model{400, 17, 48, 98304, 0, 0}, false},
	{"deepseek-v2-lite", Model{15.7, 2.4, 27, 15552, 0, 0}, false},
	{"deepseek-coder-v2-lite", Model{15.7, 2.4, 27, 15552, 0, 0}, false},
	{"deepseek-v2", Model{236, 21, 60, 34560, 0, 0}, false},
	{"deepseek-coder-v2", Model{236, 21, 60, 34560, 0, 0}, false},
	{"deepseek-v3", Model{671, 37, 61, 35136, 8, 0}, false},
	{"deepseek-r1", Model{671, 37, 61, 35136, 8, 0}, false},
	{"kimi-k2", Model{1026, 32, 61, 35136, 8, 0}, false},
	{"glm-4.5-air", Model{106, 12, 46, 94208, 0, 0}, false},
	{"glm-4.5", Model{355, 32, 92, 188416, 0, 0}, false},
	{"glm-4.6", Model{357, 32, 92, 188416, 0, 0}, false},
	{"minimax-m1", Model{456, 46, 80, 20480, 0, 0}, false},
	{"minimax-m2", Model{230, 10, 62, 126976, 8, 0}, false},
	{"phi-3.5-moe", Model{42, 6.6, 32, 65536, 0, 0}, false},
	{"phi-4-mini", Model{3.8, 3.8, 32, 65536, 0, 0}, false},
	{"phi-4-multimodal", Model{5.6, 5.6, 32, 65536, 0, 0}, false},
	{"phi-3-mini", Model{3.8, 3.8, 32, 196608, 0, 0}, false},
	{"phi-3.5-mini", Model{3.8, 3.8, 32, 196608, 0, 0}, false},
	{"phi-3-small", Model{7.4, 7.4, 32, 65536, 0, 0}, false},
	{"phi-3-medium", Model{14, 14, 40, 102400, 0, 0}, false},
	{"phi-4", Model{14.7, 14.7, 40, 102400, 0, 0}, false},
	{"phi-2", Model{2.7, 2.7, 32, 163840, 0, 0}, false},
	{"mistral-small-2409", Model{22.2, 22.2, 56, 114688, 0, 0}, false},
	{"mistral-small", Model{23.6, 23.6, 40, 81920, 0, 0}, false},
	{"mistral-nemo", Model{12.2, 12.2, 40, 81920, 0, 0}, false},
	{"mistral-large", Model{123, 123, 88, 180224, 0, 0}, false},
	{"devstral-small", Model{23.6, 23.6, 40, 81920, 0, 0}, false},
	{"magistral-small", Model{23.6, 23.6, 40, 81920, 0, 0}, false},
	{"pixtral-large", Model{124, 124, 88, 180224, 0, 0}, false},
	{"codestral", Model{22.2, 22.2, 56, 114688, 0, 0}, false},
	{"command-r-plus", Model{104, 104, 64, 131072, 0, 0}, false},
	{"command-r", Model{35, 35, 40, 81920, 0, 0}, false},
	{"command-a", Model{111, 111, 64, 131072, 0, 0}, false},
	{"dbrx", Model{132, 36, 40, 81920, 0, 0}, false},
	{"grok-1", Model{314, 86, 64, 131072, 0, 0}, false},
	{"grok-2", Model{270, 115, 64, 131072, 0, 0}, false},
	{"bloom", Model{176, 176, 70, 2007040, 0, 0}, false},
	{"gpt2", Model{0.124, 0.124, 12, 18432, 0, 0}, false},
}

var (
	// sized matches a number of parameters in a name: 8b, 0.5b, 135m, 8x7b, and active ones: a3b.
	sized = regexp.MustCompile(`(?:^|[^a-z0-9.])(a?)(?:(\d{1,3})x)?(\d{1,4}(?:\.\d{1,3})?)([bm])(?:$|[^a-z0-9])`)
	// precisions are words of names and arguments, each with the bits of a parameter, the scales of
	// groups of parameters included. The first word that is found counts.
	precisions = []struct {
		word string
		bits float64
	}{
		{"w4a16", 4.5},
		{"w4a8", 4.5},
		{"int4", 4.5},
		{"awq", 4.5},
		{"gptq-int8", 8},
		{"gptq", 4.5},
		{"4bit", 4.5},
		{"nf4", 4.5},
		{"nvfp4", 4.5},
		{"mxfp4", 4.3},
		{"fp4", 4.5},
		{"bitsandbytes", 4.5},
		{"marlin", 4.5},
		{"w8a8", 8},
		{"w8a16", 8},
		{"int8", 8},
		{"8bit", 8},
		{"fp8", 8},
		{"float8", 8},
		{"e4m3", 8},
		{"float32", 32},
		{"fp32", 32},
		{"bfloat16", 16},
		{"bf16", 16},
		{"float16", 16},
		{"fp16", 16},
	}
)

// Named returns the model by its name on Hugging Face (Qwen/Qwen3-32B-FP8, Qwen3-30B-A3B,
// Mixtral-8x7B, DeepSeek-R1) and by the arguments of its engine. It estimates layers and KV cache
// from the size where they are unknown. It returns false where nothing states the size.
func Named(name string, loaded scaling.Loaded) (Model, bool) {
	m, found := sizeOf(name)
	if loaded.Model != "" {
		if better, says := sizeOf(loaded.Model); says {
			m, found = better, true
		}
	}
	if !found {
		return Model{}, false
	}
	const usual = 16
	m.Bits = cmp.Or(bitsOf(loaded.Quantization), bitsOf(loaded.Model), bitsOf(name), m.Bits, bitsOf(loaded.Type), usual)
	m.KVBits = cmp.Or(bitsOf(loaded.KVType), usual)
	return m.complete(), true
}

// complete estimates layers and KV cache from the size: models of one size have a similar shape,
// with keys and values of about 8 heads of 128.
func (m Model) complete() Model {
	if m.Layers == 0 {
		m.Layers = 32 * math.Pow(math.Sqrt(m.Parameters*m.Active)/8, 0.4)
	}
	if m.KV == 0 {
		m.KV = 2 * m.Layers * 8 * 128
	}
	return m
}

// sizeOf returns the size of a model by its name.
func sizeOf(name string) (Model, bool) {
	name = plain(name)
	stated, found := inName(name)
	for _, k := range known {
		if (k.always || !found) && containsWord(name, k.name) {
			return k.of, true
		}
	}
	return stated, found
}

// plain returns the last part of a path in lower case, with dashes between words.
func plain(name string) string {
	name = strings.ToLower(strings.TrimRight(name, "/"))
	name = name[strings.LastIndexByte(name, '/')+1:]
	return strings.Map(func(r rune) rune {
		switch r {
		case '_', ' ', ':':
			return '-'
		}
		return r
	}, name)
}

// containsWord reports whether a name contains part as whole words.
func containsWord(name, part string) bool {
	for at := 0; ; {
		i := strings.Index(name[at:], part)
		if i < 0 {
			return false
		}
		begin, end := at+i, at+i+len(part)
		if (begin == 0 || name[begin-1] == '-') && (end == len(name) || kindOf(rune(name[end])) == other) {
			return true
		}
		at = end
	}
}

// inName returns the size that is written in a name.
func inName(name string) (m Model, found bool) {
	for rest := name; ; {
		at := sized.FindStringSubmatchIndex(rest)
		if at == nil {
			break
		}
		text := func(i int) string {
			if at[2*i] < 0 {
				return ""
			}
			return rest[at[2*i]:at[2*i+1]]
		}
		n, err := strconv.ParseFloat(text(3), 64)
		if text(4) == "m" {
			n /= 1000
		}
		experts := 0.0
		if of := text(2); of != "" {
			experts, _ = strconv.ParseFloat(of, 64)
		}
		switch {
		case err != nil || !(n > 0):
		case text(1) == "a":
			m.Active = n
		case experts > 0: // two experts compute a token; a sixth of the number is shared by all experts
			m.Parameters, m.Active, found = n*(experts*5+1)/6, n*(2*5+1)/6, true
		case m.Parameters == 0:
			m.Parameters, found = n, true
		}
		rest = rest[at[9]:] // from the end of the unit: the next character may begin the next match
	}
	if m.Active == 0 || m.Active > m.Parameters {
		m.Active = m.Parameters
	}
	return m, found
}

// bitsOf returns the bits of a parameter that a text names, 0 where it names none.
func bitsOf(text string) float64 {
	text = plain(text)
	for _, p := range precisions {
		if strings.Contains(text, p.word) {
			return p.bits
		}
	}
	return 0
}
