package discovery

import (
	"runtime"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// multiplied returns a container of some 90 kB in which one variable of 30 kB is named
// 15,000 times: expanded, it is 450 MB.
func multiplied(image string) corev1.Container {
	return with(running(image, nil, "serve", strings.Repeat("$(A)", 15_000)), "A", strings.Repeat("x", 30_000))
}

// TestACommandLineIsExpandedWithinItsLimit measures what the cache allocates for one
// Deployment: gigabytes before there was a limit.
func TestACommandLineIsExpandedWithinItsLimit(t *testing.T) {
	for name, containers := range map[string][]corev1.Container{
		"a serving engine":      {multiplied("vllm/vllm-openai")},
		"another program":       {multiplied("busybox")},
		"of many containers":    slices.Repeat([]corev1.Container{multiplied("busybox")}, 20),
		"of many engines":       slices.Repeat([]corev1.Container{multiplied("vllm/vllm-openai")}, 20),
		"after another program": {multiplied("busybox"), multiplied("vllm/vllm-openai")},
	} {
		t.Run(name, func(t *testing.T) {
			d := &appsv1.Deployment{}
			d.Spec.Template.Spec.Containers = containers
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			got, err := strip(d)
			runtime.ReadMemStats(&after)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := after.TotalAlloc-before.TotalAlloc, uint64(8<<20); got > want {
				t.Errorf("allocated %d bytes, want at most %d", got, want)
			}
			if size := got.(*appsv1.Deployment).Size(); size > 2*longestCommandLine {
				t.Errorf("%d bytes stay in the cache", size)
			}
		})
	}
}

func TestACommandLineThatIsTooLongIsSaid(t *testing.T) {
	c := multiplied("vllm/vllm-openai")
	c.Name = "server"
	template := corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{running("sidecar", nil), c}}}
	want := scaling.EngineLimits{Problem: "container server: the command line of the engine is longer than 131072 bytes once its variables are expanded: want at most that"}
	for range 3 { // as it is, stripped, and stripped again
		if got, _ := engineLimits(&template.Spec); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
		template = stripTemplate(template)
	}
}

func TestAnEngineIsFoundBeyondAVariable(t *testing.T) {
	c := with(running("llm-d-cuda", []string{"$(PROGRAM)"}, "serve", "m", "--max-num-seqs=8"), "PROGRAM", "vllm")
	template := corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{multiplied("busybox"), c}}}
	if got, _ := engineLimits(&template.Spec); got.MaxBatch != 0 {
		t.Errorf("a batch of %d: what is expanded in one pod is bounded", got.MaxBatch)
	}
	template.Spec.Containers = []corev1.Container{running("busybox", nil, "$(A)"), c}
	if got, _ := engineLimits(&template.Spec); got.MaxBatch != 8 {
		t.Errorf("a batch of %d, want 8", got.MaxBatch)
	}
}

// FuzzExpansion compares the expansion of a word with the obvious one, and its
// length with its limit.
func FuzzExpansion(f *testing.F) {
	for _, word := range []string{"", "$", "$$", "$(A)", "$$(A)", "$(A", "$(B)$(A)", "$(C)", "$($(A)", "a$(A)b$", "$()", "$(AA)", "$x"} {
		f.Add(word, "1", "$(A)", 10)
	}
	f.Fuzz(func(t *testing.T, word, a, b string, most int) {
		most = max(0, min(most, 1<<12))
		c := with(running("", []string{word}, word), "A", a, "B", b)
		want := obvious(word, map[string]string{"A": a, "B": b})
		got, size, ok := expanded(&c, most)
		if wantSize := 2 * (len(want) + 1); ok != (wantSize <= most) || ok && size != wantSize || size > most {
			t.Fatalf("%q at most %d: size %d, %t, want size %d", word, most, size, ok, wantSize)
		}
		if !ok {
			want = word
		}
		if got.Command[0] != want || got.Args[0] != want {
			t.Errorf("%q gives %q and %q, want %q", word, got.Command, got.Args, want)
		}
	})
}

// obvious expands one word, byte after byte.
func obvious(w string, values map[string]string) string {
	out := ""
	for i := 0; i < len(w); i++ {
		switch {
		case strings.HasPrefix(w[i:], "$("):
			name, _, closed := strings.Cut(w[i+2:], ")")
			value, known := values[name]
			if !closed {
				return out + w[i:]
			}
			if !known {
				value = w[i : i+3+len(name)]
			}
			out += value
			i += 2 + len(name)
		case w[i] == '$' && i+1 < len(w):
			out += w[i : i+2]
			i++
		default:
			out += w[i : i+1]
		}
	}
	return out
}
