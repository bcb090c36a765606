package config

import (
	"maps"
	"slices"
	"strings"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/spelling"
)

// Source is the content of one ConfigMap.
type Source struct {
	Namespace, Name string
	Data            map[string]string
}

// How much is read of the ConfigMaps of a namespace other than the system's: enough for two
// ordinary entries for each of 1,000 models.
const (
	mostRead = 512 << 10 // bytes
	keyBytes = 128       // added to the size of each key and its text
)

// within returns m with the keys, in sorted order, that fit into room, and the number of the
// others. It subtracts the size of the kept keys from room.
func (m Source) within(room *int) (within Source, left int) {
	within = Source{Namespace: m.Namespace, Name: m.Name, Data: map[string]string{}}
	for _, key := range slices.Sorted(maps.Keys(m.Data)) {
		size := keyBytes + len(key) + len(m.Data[key])
		if size > *room {
			left++
			continue
		}
		*room -= size
		within.Data[key] = m.Data[key]
	}
	return within, left
}

// Kind is the subject of a ConfigMap.
type Kind string

// The kinds of ConfigMap.
const (
	KindSettings       Kind = "settings"        // of the manager, one per key
	KindServiceClasses Kind = "service classes" // YAML per key
	KindUnitCosts      Kind = "unit costs"      // of accelerators, JSON per key
	KindScaleToZero    Kind = "scale to zero"   // YAML per key
	KindSaturation     Kind = "saturation"      // thresholds and pace, YAML per key
	KindQuota          Kind = "quota"           // of accelerators by namespace, YAML under the key quotas
	KindSchedule       Kind = "schedule"        // freeze windows, YAML per key
)

// Kinds returns every kind in the order in which they are documented.
func Kinds() []Kind {
	return []Kind{KindSettings, KindServiceClasses, KindUnitCosts, KindScaleToZero, KindSaturation, KindQuota, KindSchedule}
}

// Names lists the names of the ConfigMaps of each kind. In each namespace the
// first that exists is read.
type Names map[Kind][]string

// PublishedNames returns the names that published versions read.
func PublishedNames() Names {
	return Names{
		KindSettings: {
			"workload-variant-autoscaler-variantautoscaling-config", "variantautoscaling-config", "wva-variantautoscaling-config",
		},
		KindServiceClasses: {"service-classes-config", "serviceclass"},
		KindUnitCosts:      {"accelerator-unit-costs", "accelerator-unitcost"},
		KindScaleToZero:    {"model-scale-to-zero-config", "wva-model-scale-to-zero-config"},
		KindSaturation:     {"saturation-scaling-config", "wva-saturation-scaling-config", "capacity-scaling-config"},
		KindQuota:          {"wva-quota-config"},
		KindSchedule:       {"wva-schedule-config"},
	}
}

// With returns the names with one more of a kind, before the others; "" adds none. The variable
// CONFIG_MAP_NAME adds one of KindSettings, and SATURATION_CONFIG_MAP_NAME one of KindSaturation.
func (n Names) With(kind Kind, name string) Names {
	out := Names{}
	for k, names := range n {
		out[k] = slices.Clone(names)
	}
	if name != "" {
		others := slices.DeleteFunc(out[kind], func(other string) bool { return other == name })
		out[kind] = append([]string{name}, others...)
	}
	return out
}

// WithPrefixed returns the names with those of all that end with a dash and a published name, as a
// Helm release and kustomize's namePrefix name their objects. They come after the others of their
// kind, in sorted order, so that they are read only where no other of the kind exists.
func (n Names) WithPrefixed(all []string) Names {
	out := n.With("", "")
	for _, name := range slices.Sorted(slices.Values(all)) {
		if _, known := out.KindOf(name); known {
			continue
		}
		if kind, ok := n.kindBehindPrefix(name); ok {
			out[kind] = append(out[kind], name)
		}
	}
	return out
}

func (n Names) kindBehindPrefix(name string) (Kind, bool) {
	for _, kind := range Kinds() {
		for _, known := range n[kind] {
			if strings.HasSuffix(name, "-"+known) {
				return kind, true
			}
		}
	}
	return "", false
}

// KindOf returns the kind of the ConfigMaps of this name, and whether there is one.
func (n Names) KindOf(name string) (Kind, bool) {
	for _, kind := range Kinds() {
		if slices.Contains(n[kind], name) {
			return kind, true
		}
	}
	return "", false
}

// Nearest returns the known name that this one was probably meant to be, or "": a suffix of it, as
// in the charts' names, or a name that differs by a typing error.
func (n Names) Nearest(name string) string {
	var all []string
	for _, kind := range Kinds() {
		for _, known := range n[kind] {
			if strings.HasSuffix(name, "-"+known) {
				return known
			}
			all = append(all, known)
		}
	}
	return spelling.Nearest(name, all)
}

// choose returns, of the ConfigMaps of one namespace and kind, the one whose name comes first in n,
// and the others in the order of n.
func (n Names) choose(kind Kind, maps []Source) (first Source, others []Source) {
	sorted := slices.SortedFunc(slices.Values(maps), func(a, b Source) int {
		return slices.Index(n[kind], a.Name) - slices.Index(n[kind], b.Name)
	})
	return sorted[0], sorted[1:]
}
