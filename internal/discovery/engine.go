package discovery

import (
	"path"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/saturation/engineargs"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// envV1 is the variable by which vLLM's engine was chosen while there were two.
const envV1 = "VLLM_USE_V1"

// engineLimits returns what the arguments of the first container with vLLM bound.
// They are not known of another engine, of a pod that is not known, of arguments
// that vLLM would refuse or that something outside of the template completes, and
// of a replica with several engines, of which they would bound one.
func engineLimits(pod *corev1.PodSpec) scaling.EngineLimits {
	if pod == nil {
		return scaling.EngineLimits{}
	}
	for i := range pod.Containers {
		c := expanded(&pod.Containers[i])
		if !runsVLLM(&c) {
			continue
		}
		v1 := ""
		for _, e := range c.Env {
			if e.Name == envV1 {
				v1 = e.Value
			}
		}
		arguments := engineargs.Parse(c.Command, c.Args, v1)
		if len(arguments.Invalid) > 0 || hasSeveralEngines(&c) {
			return scaling.EngineLimits{}
		}
		return arguments.Limits()
	}
	return scaling.EngineLimits{}
}

// stripEngine keeps of a container what engineLimits reads, nothing where there
// is no vLLM.
func stripEngine(from *corev1.Container, to *corev1.Container) {
	c := expanded(from)
	if !runsVLLM(&c) {
		return
	}
	to.Image, to.Command, to.Args = c.Image, c.Command, c.Args
	for _, e := range c.Env {
		if e.Name == envV1 {
			to.Env = append(to.Env, corev1.EnvVar{Name: e.Name, Value: e.Value})
		}
	}
}

// expanded returns a container with the variables that its environment spells out
// put into its command line, as the kubelet does it: $(NAME).
func expanded(c *corev1.Container) corev1.Container {
	pairs := []string{"$$", "$$"} // an escaped dollar begins no variable
	for _, e := range c.Env {
		if e.ValueFrom == nil {
			pairs = append(pairs, "$("+e.Name+")", e.Value)
		}
	}
	out := *c
	if len(pairs) > 2 {
		fill := strings.NewReplacer(pairs...)
		out.Command, out.Args = replaced(c.Command, fill), replaced(c.Args, fill)
	}
	return out
}

func replaced(words []string, fill *strings.Replacer) []string {
	var out []string
	for _, w := range words {
		out = append(out, fill.Replace(w))
	}
	return out
}

// runsVLLM reports whether a container's command line names vLLM's program or a
// module of it, or else its image is called by that name: vllm/vllm-openai is
// given arguments alone.
func runsVLLM(c *corev1.Container) bool {
	for w := range commandWords(c) {
		if path.Base(w) == "vllm" || strings.HasPrefix(w, "vllm.entrypoints.") {
			return true
		}
	}
	if len(c.Command) > 0 {
		return false // something else of the image
	}
	name, _, _ := strings.Cut(path.Base(c.Image), "@")
	name, _, _ = strings.Cut(name, ":")
	return name == "vllm" || strings.HasPrefix(name, "vllm-")
}

// hasSeveralEngines reports whether a replica is told to spread requests over
// ranks, each with a batch of its own.
func hasSeveralEngines(c *corev1.Container) bool {
	for w := range commandWords(c) {
		flag, _, _ := strings.Cut(strings.ReplaceAll(w, "_", "-"), "=")
		if flag == "-dp" || strings.HasPrefix(flag, "--data-parallel-size") {
			return true
		}
	}
	return false
}

// commandWords returns the words of a command line, those within a string for a
// shell too.
func commandWords(c *corev1.Container) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for _, part := range [][]string{c.Command, c.Args} {
			for _, text := range part {
				for w := range strings.FieldsSeq(text) {
					if !yield(w) {
						return
					}
				}
			}
		}
	}
}
