package metrics

import (
	"strings"
	"unicode/utf8"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// maxLabel is the length of the longest label value, in bytes. Published
// versions cut there, and recording rules rely on it.
const maxLabel = 128

// unknown replaces an empty label value, because Prometheus treats an empty label as absent.
const unknown = "unknown"

// Label returns s as a label value: valid UTF-8 without space around it, cut between two characters
// to at most 128 bytes, "unknown" when nothing is left.
func Label(s string) string {
	s = strings.TrimSpace(strings.ToValidUTF8(s, "\uFFFD"))
	if len(s) > maxLabel {
		end := maxLabel
		for !utf8.RuneStart(s[end]) {
			end--
		}
		s = s[:end]
	}
	if s == "" {
		return unknown
	}
	return s
}

// TargetLabels returns the labels of the replica gauges of a variant. controllerInstance is ""
// where the fleet is not split.
func TargetLabels(v scaling.Variant, controllerInstance string) map[string]string {
	labels := map[string]string{
		LabelVariant:     Label(v.Key.Name),
		LabelTarget:      Label(v.Target.Name),
		LabelTargetKind:  Label(v.Target.Kind),
		LabelNamespace:   Label(v.Key.Namespace),
		LabelAccelerator: Label(v.Accelerator),
	}
	if controllerInstance != "" {
		labels[LabelControllerInstance] = Label(controllerInstance)
	}
	return labels
}

// Ratio returns desired divided by current replicas, and desired where current is 0, so that it
// says how many to start where nothing runs.
func Ratio(desired, current scaling.Replicas) float64 {
	if current == 0 {
		return float64(desired)
	}
	return float64(desired) / float64(current)
}
