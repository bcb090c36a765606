package discovery

import (
	"path"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/saturation/engineargs"
)

// envRanks is a name that no container can give a variable. stripEngine leaves it in place of the
// command line of an engine other than vLLM. Its value is what ranksOfPod returns.
const envRanks = "data-parallel ranks="

// unreadRanks stands for a number of ranks that cannot be read: it means several.
const unreadRanks = 2

// ranksOfPod returns the number of data-parallel ranks that the metrics page of a pod's engine
// covers, 0 for one or unknown. engine is the container with vLLM, nil for none.
func ranksOfPod(containers []corev1.Container, engine *corev1.Container) int {
	if engine != nil {
		return ranksOfVLLM(engine)
	}
	for i := range containers {
		for _, e := range containers[i].Env {
			if e.Name == envRanks {
				n, _ := strconv.Atoi(e.Value) // stripEngine wrote a number
				return n
			}
		}
	}
	for i := range containers {
		if c := &containers[i]; runsSGLang(c) {
			given := flagsOf(c)
			return several(given.number("dp-size", "dp", "data-parallel-size"))
		}
	}
	return 0
}

// ranksOfVLLM returns the same for a container with vLLM. Where each rank has an API server, as an
// external load balancer of ranks needs, its page covers one rank; where each node has one, the
// ranks of the node; else all ranks.
func ranksOfVLLM(c *corev1.Container) int {
	given := flagsOf(c)
	all, local := given.number("data-parallel-size", "dp"), given.number("data-parallel-size-local", "dpl")
	switch {
	case given.has("data-parallel-rank", "dpn", "data-parallel-external-lb", "dpe"):
		return 0
	case local > 0 && given.has("data-parallel-hybrid-lb", "dph", "data-parallel-start-rank", "dpr"):
		return several(local)
	default:
		return several(all)
	}
}

// several returns n, or 0 where n is 1 or less.
func several(n int) int {
	if n > 1 {
		return n
	}
	return 0
}

// flags are the flags of a command line (engineargs.Flags).
type flags map[string]string

func flagsOf(c *corev1.Container) flags { return engineargs.Flags(c.Command, c.Args) }

// has reports whether the command line has one of the names.
func (f flags) has(names ...string) bool {
	for _, name := range names {
		if _, ok := f[name]; ok {
			return true
		}
	}
	return false
}

// number returns the value of the first of the names that is given: unreadRanks where it is no
// positive integer, 0 where none is given.
func (f flags) number(names ...string) int {
	for _, name := range names {
		if value, ok := f[name]; ok {
			if n, err := strconv.Atoi(value); err == nil && n > 0 {
				return n
			}
			return unreadRanks
		}
	}
	return 0
}

// runsSGLang reports whether a container's command line names SGLang's program or its server, or,
// without a command, whether its image has that name.
func runsSGLang(c *corev1.Container) bool {
	for w := range commandWords(c) {
		if path.Base(w) == "sglang" || strings.HasPrefix(w, "sglang.launch_server") {
			return true
		}
	}
	if len(c.Command) > 0 {
		return false
	}
	name, _, _ := strings.Cut(path.Base(c.Image), "@")
	name, _, _ = strings.Cut(name, ":")
	return name == "sglang" || strings.HasPrefix(name, "sglang-")
}
