package query

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// vllmOwn is the prefix of the metric names of vLLM itself.
const vllmOwn = "vllm:"

// Prefixes are the prefixes of vLLM's metric names in place of "vllm:", the preferred first. Nil
// means DefaultPrefixes.
//
// A monitor may store the series of a pod under another name beside its own, as the two PodMonitors
// of OpenShift AI do. Names with another prefix are therefore twins: of one metric of one pod and
// rank the first prefix that has a value counts, and two are never added up.
type Prefixes []string

// DefaultPrefixes returns vLLM's own prefix, the prefix of the monitors that KServe makes on
// OpenShift AI, and the prefix of Ray.
func DefaultPrefixes() Prefixes { return Prefixes{vllmOwn, "kserve_vllm:", "ray_vllm_"} }

const (
	// MostPrefixes limits the number of prefixes: each adds a selector wherever a metric is read.
	MostPrefixes = 6
	// LongestPrefix limits the length of a prefix, in bytes.
	LongestPrefix = 64
)

// metricName matches the metric names that every version of Prometheus accepts.
var metricName = regexp.MustCompile(`^[a-zA-Z_:][a-zA-Z0-9_:]*$`)

// ParsePrefixes reads prefixes separated by commas. It ignores blanks around a prefix, and
// repetitions. The error names the prefix that is invalid.
func ParsePrefixes(text string) (Prefixes, error) {
	var all Prefixes
	for prefix := range strings.SplitSeq(text, ",") {
		prefix = strings.TrimSpace(prefix)
		switch {
		case !metricName.MatchString(prefix):
			return nil, fmt.Errorf("%q does not begin the name of a metric", prefix)
		case len(prefix) > LongestPrefix:
			return nil, fmt.Errorf("%q is longer than %d characters", prefix, LongestPrefix)
		case slices.Contains(all, prefix):
			continue
		case len(all) == MostPrefixes:
			return nil, fmt.Errorf("more than %d prefixes", MostPrefixes)
		}
		all = append(all, prefix)
	}
	return all, nil
}

// String renders p as ParsePrefixes reads it.
func (p Prefixes) String() string { return strings.Join(p, ",") }

// orDefault returns p, or DefaultPrefixes where p is empty.
func (p Prefixes) orDefault() Prefixes {
	if len(p) == 0 {
		return DefaultPrefixes()
	}
	return p
}

// of returns names that begin with own under each of the prefixes: all prefixes of one name before
// the next name, so that the preferred name counts first, whichever prefix it has. Names come back
// as they are where own is "".
func (p Prefixes) of(own string, names []string) []string {
	if own == "" || len(names) == 0 {
		return names
	}
	all := make([]string, 0, len(p)*len(names))
	for _, name := range names {
		for _, prefix := range p {
			all = append(all, prefix+strings.TrimPrefix(name, own))
		}
	}
	return all
}

// renamed returns r with the names of its series under each of the prefixes.
func (p Prefixes) renamed(own string, r Recipe) Recipe {
	series := func(list []Series) []Series {
		out := slices.Clone(list)
		for i := range out {
			out[i].Names = p.of(own, out[i].Names)
		}
		return out
	}
	r.Of, r.Holds, r.Still, r.Born, r.Began = series(r.Of), series(r.Holds), series(r.Still), series(r.Born), series(r.Began)
	r.Per.Names = p.of(own, r.Per.Names)
	return r
}
