package discovery

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// running returns a container with an image, a command and arguments.
func running(image string, command []string, args ...string) corev1.Container {
	return corev1.Container{Image: image, Command: command, Args: args}
}

// with gives a container pairs of names and values as its environment.
func with(c corev1.Container, pairs ...string) corev1.Container {
	for i := 0; i < len(pairs); i += 2 {
		c.Env = append(c.Env, corev1.EnvVar{Name: pairs[i], Value: pairs[i+1]})
	}
	return c
}

func TestEngineLimitsAreThoseOfVLLM(t *testing.T) {
	shell := []string{"/bin/sh", "-c"}
	elsewhere := running("", []string{"vllm", "serve", "m"}, "--max-num-seqs=$(SEQS)")
	elsewhere.Env = []corev1.EnvVar{{Name: "SEQS", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{Key: "k"}}}}
	sidecar := running("llm-d-routing-sidecar", nil, "--data-parallel-size=8")
	// The defaults of vLLM are 256 requests, and 8192 tokens or, of the first
	// engine, 2048.
	tests := map[string]struct {
		containers []corev1.Container
		want       scaling.EngineLimits
	}{
		"none":                         {nil, scaling.EngineLimits{}},
		"the image of vLLM":            {[]corev1.Container{running("docker.io/vllm/vllm-openai:v0.11.0", nil, "--model=m", "--max-num-seqs=64")}, scaling.EngineLimits{BatchTokens: 8192, MaxBatch: 64}},
		"by digest":                    {[]corev1.Container{running("rocm/vllm@sha256:0123", nil, "--max-num-batched-tokens", "4k")}, scaling.EngineLimits{BatchTokens: 4000, MaxBatch: 256}},
		"another image, its program":   {[]corev1.Container{running("llm-d-cuda", []string{"/usr/bin/vllm"}, "serve", "m")}, scaling.EngineLimits{BatchTokens: 8192, MaxBatch: 256}},
		"a module":                     {[]corev1.Container{running("llm-d-cuda", []string{"python3", "-m", "vllm.entrypoints.openai.api_server"})}, scaling.EngineLimits{BatchTokens: 8192, MaxBatch: 256}},
		"in a shell":                   {[]corev1.Container{running("llm-d-cuda", shell, "source /env && exec vllm serve m --max-num-seqs 32")}, scaling.EngineLimits{BatchTokens: 8192, MaxBatch: 32}},
		"the first engine":             {[]corev1.Container{with(running("vllm/vllm-openai", nil, "--enable-chunked-prefill"), "VLLM_USE_V1", "0")}, scaling.EngineLimits{BatchTokens: 2048, MaxBatch: 256}},
		"a variable":                   {[]corev1.Container{with(running("vllm/vllm-openai", nil, "--max-num-seqs=$(SEQS)"), "SEQS", "16")}, scaling.EngineLimits{BatchTokens: 8192, MaxBatch: 16}},
		"an escaped variable":          {[]corev1.Container{with(running("vllm/vllm-openai", nil, "--max-num-seqs=$$(SEQS)"), "SEQS", "16")}, scaling.EngineLimits{}},
		"a variable of elsewhere":      {[]corev1.Container{elsewhere}, scaling.EngineLimits{}},
		"a variable of the shell":      {[]corev1.Container{with(running("", shell, "vllm serve m --max-num-seqs $SEQS"), "SEQS", "16")}, scaling.EngineLimits{}},
		"beside another container":     {[]corev1.Container{running("llm-d-routing-sidecar", nil, "--vllm-port=8200"), running("vllm/vllm-openai", nil, "--max-num-seqs=8")}, scaling.EngineLimits{BatchTokens: 8192, MaxBatch: 8}},
		"another program of its image": {[]corev1.Container{running("vllm/vllm-openai", []string{"sleep"}, "1d")}, scaling.EngineLimits{}},
		"another engine":               {[]corev1.Container{running("lmsysorg/sglang", []string{"python3", "-m", "sglang.launch_server"}, "--max-num-seqs=8")}, scaling.EngineLimits{}},
		"several engines":              {[]corev1.Container{running("vllm/vllm-openai", nil, "--data_parallel_size=8")}, scaling.EngineLimits{Ranks: 8}},
		"several engines, in short":    {[]corev1.Container{running("vllm/vllm-openai", nil, "-dp", "8")}, scaling.EngineLimits{Ranks: 8}},
		"one engine, as it is written": {[]corev1.Container{running("vllm/vllm-openai", nil, "--data-parallel-size=1")}, scaling.EngineLimits{BatchTokens: 8192, MaxBatch: 256}},
		"as many as a variable":        {[]corev1.Container{with(running("vllm/vllm-openai", nil, "-dp=$(DP)"), "DP", "4")}, scaling.EngineLimits{Ranks: 4}},
		"as many as a shell says":      {[]corev1.Container{running("", shell, `exec vllm serve m --data-parallel-size "$DP"`)}, scaling.EngineLimits{Ranks: 2}},
		"behind one port of all nodes": {[]corev1.Container{running("vllm/vllm-openai", nil, "-dp", "16", "-dpl", "8")}, scaling.EngineLimits{Ranks: 16}},
		"behind one port of each node": {[]corev1.Container{running("vllm/vllm-openai", nil, "-dp", "16", "-dpl", "8", "--data-parallel-hybrid-lb")}, scaling.EngineLimits{Ranks: 8}},
		"behind a port of each":        {[]corev1.Container{running("vllm/vllm-openai", nil, "-dp", "16", "--data-parallel-rank", "3")}, scaling.EngineLimits{}},
		"several of SGLang": {
			[]corev1.Container{sidecar, running("lmsysorg/sglang", []string{"python3", "-m", "sglang.launch_server"}, "--dp-size=4")},
			scaling.EngineLimits{Ranks: 4},
		},
		"several of SGLang, in short": {[]corev1.Container{running("lmsysorg/sglang:v0.5.10", nil, "--dp", "2", "--enable-dp-attention")}, scaling.EngineLimits{Ranks: 2}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			template := corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: tt.containers}}
			if got, _ := engineLimits(&template.Spec); got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
			stripped := stripTemplate(template)
			if got, _ := engineLimits(&stripped.Spec); got != tt.want {
				t.Errorf("stripped: got %+v, want %+v", got, tt.want)
			}
			if got, want := startedWith(&stripped.Spec), startedWith(&template.Spec); got != want {
				t.Errorf("stripped: started with %s, want %s", got, want)
			}
			if diff := cmp.Diff(stripTemplate(stripped), stripped); diff != "" {
				t.Errorf("stripped again, -got +want:\n%s", diff)
			}
		})
	}
	if got, loaded := engineLimits(nil); got != (scaling.EngineLimits{}) || loaded != (scaling.Loaded{}) {
		t.Errorf("of a kind that does not tell its pods: got %+v", got)
	}
}

// TestATemplateIsNamedByWhatItsEngineIsStartedWith, and by nothing else of it.
func TestATemplateIsNamedByWhatItsEngineIsStartedWith(t *testing.T) {
	sidecar := running("llm-d-routing-sidecar:v1", nil, "--port=8000")
	vllm := running("vllm/vllm-openai:v1", nil, "--max-num-seqs=8")
	sglang := running("lmsysorg/sglang:v1", []string{"python3", "-m", "sglang.launch_server"}, "--tp=8")
	tests := map[string]struct {
		from, to []corev1.Container
		changed  bool
	}{
		"nothing changes":               {[]corev1.Container{vllm}, []corev1.Container{vllm}, false},
		"another image":                 {[]corev1.Container{vllm}, []corev1.Container{running("vllm/vllm-openai:v2", nil, "--max-num-seqs=8")}, true},
		"another argument":              {[]corev1.Container{vllm}, []corev1.Container{running("vllm/vllm-openai:v1", nil, "--max-num-seqs=16")}, true},
		"one argument cut in two":       {[]corev1.Container{vllm}, []corev1.Container{running("vllm/vllm-openai:v1", nil, "--max-num-", "seqs=8")}, true},
		"another command":               {[]corev1.Container{sglang}, []corev1.Container{running(sglang.Image, []string{"python3"}, sglang.Args...)}, true},
		"a variable of the arguments":   {[]corev1.Container{with(running("vllm", nil, "$(A)"), "A", "x")}, []corev1.Container{with(running("vllm", nil, "$(A)"), "A", "y")}, true},
		"a variable of something else":  {[]corev1.Container{with(vllm, "A", "x")}, []corev1.Container{with(vllm, "A", "y")}, false},
		"a sidecar":                     {[]corev1.Container{sidecar, vllm}, []corev1.Container{running("llm-d-routing-sidecar:v2", nil), vllm}, false},
		"another engine":                {[]corev1.Container{sidecar, sglang}, []corev1.Container{sidecar, running("lmsysorg/sglang:v2", sglang.Command, "--tp=8")}, true},
		"what cannot be known any more": {[]corev1.Container{vllm}, []corev1.Container{multiplied("vllm/vllm-openai")}, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			before, after := startedWith(&corev1.PodSpec{Containers: tt.from}), startedWith(&corev1.PodSpec{Containers: tt.to})
			if len(before) != 2*digestBytes || (before != after) != tt.changed {
				t.Errorf("%q became %q, want a change: %t", before, after, tt.changed)
			}
			if got := resolve(variant("v"), target{pod: &corev1.PodSpec{Containers: tt.from}}, nil).Template; got != before {
				t.Errorf("the variant has template %q, want %q", got, before)
			}
		})
	}
	if got := startedWith(&corev1.PodSpec{Containers: []corev1.Container{multiplied("vllm/vllm-openai")}}); got != "" {
		t.Errorf("a command line that is too long: %q, want nothing", got)
	}
	if got := startedWith(nil); got != "" {
		t.Errorf("of a kind that does not tell its pods: %q, want nothing", got)
	}
}

func TestStripKeepsOfAnEngineWhatBoundsIt(t *testing.T) {
	c := with(running("vllm/vllm-openai", nil, "--max-num-seqs=$(SEQS)"), "SEQS", "16", "VLLM_USE_V1", "1", "HF_TOKEN", "secret")
	got := stripTemplate(corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{c}}})
	digest := startedWith(&corev1.PodSpec{Containers: []corev1.Container{c}})
	want := []corev1.Container{with(running("vllm/vllm-openai", nil, "--max-num-seqs=16"), "VLLM_USE_V1", "1", envDigest, digest)}
	if diff := cmp.Diff(got.Spec.Containers, want); diff != "" {
		t.Errorf("-got +want:\n%s", diff)
	}
}

func TestVariantsHaveTheLimitsOfTheirEngine(t *testing.T) {
	d := &appsv1.Deployment{}
	d.Spec.Template.Spec.Containers = []corev1.Container{running("vllm/vllm-openai", nil, "--max-num-seqs=8")}
	got := resolve(variant("v"), target{pod: &d.Spec.Template.Spec}, nil).Limits
	if want := (scaling.EngineLimits{BatchTokens: 8192, MaxBatch: 8}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestArgumentsSayWhichModelIsLoaded(t *testing.T) {
	template := corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{running("llm-d-cuda", []string{"vllm", "serve", "Qwen/Qwen3-32B"},
		"--served-model-name=chat", "-q", "fp8", "--tensor-parallel-size", "2", "--kv-cache-dtype=fp8", "--dtype", "bfloat16", "--gpu-memory-utilization=0.8")}}}
	want := scaling.Loaded{Model: "Qwen/Qwen3-32B", Quantization: "fp8", Type: "bfloat16", KVType: "fp8", Memory: 0.8, Accelerators: 2}
	if _, got := engineLimits(&template.Spec); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	stripped := stripTemplate(template)
	if _, got := engineLimits(&stripped.Spec); got != want {
		t.Errorf("of the stripped template %+v, want %+v", got, want)
	}
}
