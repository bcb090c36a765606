package discovery

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/saturation/engineargs"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// envV1 is the variable that chose vLLM's engine while vLLM had two.
const envV1 = "VLLM_USE_V1"

// envTooLong is a name that no container can give a variable. stripEngine leaves it in place of a
// command line that is too long.
const envTooLong = "command line too long="

// envDigest is another such name. Its value is what startedWith returns for the pod.
const envDigest = "digest="

// startedWith returns a digest of the image, the command and the arguments of the container that
// runs vLLM, with its variables expanded; without vLLM, of all containers. It returns "" for an
// unknown pod and for a command line that is too long.
func startedWith(pod *corev1.PodSpec) string {
	if pod == nil || len(pod.Containers) == 0 {
		return ""
	}
	for _, c := range pod.Containers {
		for _, e := range c.Env {
			if e.Name == envDigest {
				return e.Value
			}
		}
	}
	containers := pod.Containers
	switch found := findEngine(containers); {
	case found.tooLong:
		return ""
	case found.container != nil:
		containers = []corev1.Container{*found.container}
	}
	sum := sha256.New()
	for _, c := range containers {
		for _, words := range [][]string{{c.Image}, c.Command, c.Args} {
			for _, w := range words {
				_, _ = io.WriteString(sum, w+"\x00") // a hash returns no error
			}
			_, _ = sum.Write([]byte{0})
		}
	}
	return hex.EncodeToString(sum.Sum(nil)[:digestBytes])
}

// digestBytes is enough to distinguish the successive templates of one variant.
const digestBytes = 8

// engineLimits returns the limits that the arguments of a pod's serving engine set, and what they
// say of the model. Only the number of ranks is known for a pod without vLLM, for arguments that
// cannot be read, as where the template leaves a variable open, and for a replica with several
// engines, because the arguments limit one of them. Not even that is known for an unknown pod, and
// for a command line beyond longestCommandLine, which is a Problem.
func engineLimits(pod *corev1.PodSpec) (scaling.EngineLimits, scaling.Loaded) {
	if pod == nil {
		return scaling.EngineLimits{}, scaling.Loaded{}
	}
	found := findEngine(pod.Containers)
	switch {
	case found.container == nil:
		return scaling.EngineLimits{Ranks: ranksOfPod(pod.Containers, nil)}, scaling.Loaded{}
	case found.tooLong:
		return scaling.EngineLimits{Problem: fmt.Sprintf(
			"container %s: the command line of the engine is longer than %d bytes once its variables are expanded: want at most that", found.container.Name, longestCommandLine)}, scaling.Loaded{}
	}
	c := found.container
	v1 := ""
	for _, e := range c.Env {
		if e.Name == envV1 {
			v1 = e.Value
		}
	}
	arguments := engineargs.Parse(c.Command, c.Args, v1)
	ranks := ranksOfPod(pod.Containers, c)
	if len(arguments.Invalid) > 0 || hasSeveralEngines(c) {
		return scaling.EngineLimits{Ranks: ranks}, scaling.Loaded{}
	}
	limits := arguments.Limits()
	limits.Ranks = ranks
	return limits, arguments.Loaded()
}

// stripEngine copies the parts of the containers of a pod that engineLimits and startedWith read:
// the command line of the container with vLLM, and on the first container a digest and the ranks of
// another engine.
func stripEngine(from []corev1.Container, to []corev1.Container) {
	if len(from) == 0 {
		return
	}
	found := findEngine(from)
	switch {
	case found.tooLong:
		to[found.at].Env = []corev1.EnvVar{{Name: envTooLong}}
		return
	case found.container != nil:
		c, kept := found.container, &to[found.at]
		kept.Image, kept.Command, kept.Args = c.Image, c.Command, c.Args
		for _, e := range c.Env {
			if e.Name == envV1 {
				kept.Env = append(kept.Env, corev1.EnvVar{Name: e.Name, Value: e.Value})
			}
		}
	default:
		if ranks := ranksOfPod(from, nil); ranks > 0 {
			to[0].Env = append(to[0].Env, corev1.EnvVar{Name: envRanks, Value: strconv.Itoa(ranks)})
		}
	}
	to[0].Env = append(to[0].Env, corev1.EnvVar{Name: envDigest, Value: startedWith(&corev1.PodSpec{Containers: from})})
}

// engine is the container of a pod that runs vLLM.
type engine struct {
	at        int               // its index among the containers
	container *corev1.Container // with its variables expanded, nil where no container runs vLLM
	tooLong   bool              // its command line is beyond longestCommandLine, so its variables are not expanded
}

// findEngine returns the first container whose unexpanded command line runs vLLM, else the first
// that runs it once its variables are expanded. longestCommandLine limits all that it expands in
// one pod.
func findEngine(containers []corev1.Container) engine {
	for i := range containers {
		c := &containers[i]
		if len(c.Env) == 1 && c.Env[0].Name == envTooLong {
			return engine{at: i, container: c, tooLong: true}
		}
		if !runsVLLM(c) {
			continue
		}
		out, _, ok := expanded(c, longestCommandLine)
		return engine{at: i, container: &out, tooLong: !ok}
	}
	room := longestCommandLine
	for i := range containers {
		if len(containers[i].Env) == 0 {
			continue
		}
		out, size, ok := expanded(&containers[i], room)
		if ok && runsVLLM(&out) {
			return engine{at: i, container: &out}
		}
		room -= size
	}
	return engine{}
}

// runsVLLM reports whether a container's command line names vLLM's program or a module of it, or,
// without a command, whether its image has that name: vllm/vllm-openai takes arguments alone.
func runsVLLM(c *corev1.Container) bool {
	for w := range commandWords(c) {
		if path.Base(w) == "vllm" || strings.HasPrefix(w, "vllm.entrypoints.") {
			return true
		}
	}
	if len(c.Command) > 0 {
		return false // another program of the image
	}
	name, _, _ := strings.Cut(path.Base(c.Image), "@")
	name, _, _ = strings.Cut(name, ":")
	return name == "vllm" || strings.HasPrefix(name, "vllm-")
}

// hasSeveralEngines reports whether the arguments spread the requests of a replica over several
// ranks, each with its own batch.
func hasSeveralEngines(c *corev1.Container) bool {
	given := flagsOf(c)
	return given.number("data-parallel-size", "dp") > 1 || given.number("data-parallel-size-local", "dpl") > 1
}

// commandWords returns the words of a command line, including those inside a shell string.
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
