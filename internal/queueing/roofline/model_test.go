package roofline

import (
	"math"
	"testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

func TestNamesSayTheSize(t *testing.T) {
	for name, want := range map[string]struct{ all, active, bits float64 }{
		"Qwen/Qwen3-32B":                                    {32, 32, 16},
		"Qwen/Qwen3-32B-FP8":                                {32, 32, 8},
		"Qwen/Qwen3-0.6B":                                   {0.6, 0.6, 16},
		"Qwen/Qwen3-30B-A3B-Instruct-2507":                  {30, 3, 16},
		"Qwen3-235B-A22B-GPTQ-Int4":                         {235, 22, 4.5},
		"Qwen/Qwen2.5-7B-Instruct-1M":                       {7.6, 7.6, 16},
		"Qwen/Qwen3-Next-80B-A3B-Thinking":                  {80, 3, 16},
		"meta-llama/Llama-3.1-8B-Instruct":                  {8, 8, 16},
		"meta-llama/Llama-3.3-70B-Instruct":                 {70, 70, 16},
		"llama3.1:8b":                                       {8, 8, 16},
		"RedHatAI/Llama-3.3-70B-Instruct-quantized.w8a8":    {70, 70, 8},
		"meta-llama/Llama-4-Scout-17B-16E-Instruct":         {109, 17, 16},
		"meta-llama/Llama-4-Maverick-17B-128E-Instruct-FP8": {400, 17, 8},
		"mistralai/Mixtral-8x7B-Instruct-v0.1":              {46.7, 12.9, 16},
		"someone/Other-4x10B":                               {35, 18.3, 16},
		"mistralai/Mistral-7B-Instruct-v0.3":                {7, 7, 16},
		"mistral-small-24b":                                 {24, 24, 16},
		"mistralai/Mistral-Nemo-Instruct-2407":              {12.2, 12.2, 16},
		"microsoft/phi-4":                                   {14.7, 14.7, 16},
		"RedHatAI/phi-4-quantized.w4a16":                    {14.7, 14.7, 4.5},
		"microsoft/Phi-4-mini-instruct":                     {3.8, 3.8, 16},
		"openai/gpt-oss-20b":                                {20.9, 3.6, 5},
		"openai/gpt-oss-120b":                               {116.8, 5.1, 4.3},
		"deepseek-ai/DeepSeek-R1-0528":                      {671, 37, 8},
		"deepseek-ai/DeepSeek-V3.1":                         {671, 37, 8},
		"deepseek-ai/DeepSeek-R1-Distill-Qwen-32B":          {32, 32, 16},
		"deepseek-ai/DeepSeek-R1-0528-Qwen3-8B":             {8, 8, 16},
		"HuggingFaceTB/SmolLM2-135M-Instruct":               {0.135, 0.135, 16},
		"google/gemma-3-27b-it":                             {27, 27, 16},
		"/models/llama-3.1-8b-instruct-awq/":                {8, 8, 4.5},
		"unsloth/Llama-3.2-3B-Instruct-bnb-4bit":            {3, 3, 4.5},
	} {
		got, ok := Named(name, scaling.Loaded{})
		near := func(a, b float64) bool { return math.Abs(a-b) < 0.01*b }
		if !ok || !near(got.Parameters, want.all) || !near(got.Active, want.active) || got.Bits != want.bits {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
		if !(got.Layers > 0 && got.KV > 0 && got.KVBits == 16) {
			t.Errorf("%s has no layers or no KV cache: %+v", name, got)
		}
	}
	for _, name := range []string{"", "default/default", "my-chat-model", "Qwen1.5-MoE-A2.7B", "v1-0b", "gpt-4bit", "bloomberg"} {
		if got, ok := Named(name, scaling.Loaded{}); ok {
			t.Errorf("%q is of size %+v, want that it is not known", name, got)
		}
	}
}

func TestArgumentsSayMoreThanNames(t *testing.T) {
	for _, tt := range []struct {
		name, model string
		loaded      scaling.Loaded
		want        Model
	}{
		{"the model that is loaded", "chat", scaling.Loaded{Model: "Qwen/Qwen3-32B-FP8"}, Model{Parameters: 32, Bits: 8, KVBits: 16}},
		{"a path that says nothing", "Qwen3-32B", scaling.Loaded{Model: "/mnt/model"}, Model{Parameters: 32, Bits: 16, KVBits: 16}},
		{"quantized as it is loaded", "Qwen3-32B", scaling.Loaded{Quantization: "fp8", KVType: "fp8_e4m3"}, Model{Parameters: 32, Bits: 8, KVBits: 8}},
		{"not quantized", "Qwen3-32B", scaling.Loaded{Type: "float32", KVType: "auto"}, Model{Parameters: 32, Bits: 32, KVBits: 16}},
		{"a type of activations", "Qwen3-32B-AWQ", scaling.Loaded{Type: "bfloat16"}, Model{Parameters: 32, Bits: 4.5, KVBits: 16}},
	} {
		got, ok := Named(tt.model, tt.loaded)
		if !ok || got.Parameters != tt.want.Parameters || got.Bits != tt.want.Bits || got.KVBits != tt.want.KVBits {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

func FuzzNamed(f *testing.F) {
	for _, name := range []string{"Qwen/Qwen3-30B-A3B", "8x7b", "a3b", "0b-0m", "9999.999b", "-1b"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		m, ok := Named(name, scaling.Loaded{})
		if ok && !(m.Active > 0 && m.Active <= m.Parameters && m.Layers > 0 && !math.IsInf(m.KV, 0)) {
			t.Errorf("%q: %+v", name, m)
		}
	})
}
