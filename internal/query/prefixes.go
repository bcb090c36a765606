package query

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// vllmOwn is what vLLM itself begins the names of its metrics with.
const vllmOwn = "vllm:"

// Prefixes are what the names of vLLM's metrics begin with in the place of "vllm:",
// the preferred first. Nil means DefaultPrefixes.
//
// A monitor may store the series of a pod under another name beside its own, as the
// two PodMonitors of OpenShift AI do. Names with another prefix are therefore twins: of
// one metric of one pod and rank the first prefix counts that has a value, and two are
// never added up.
type Prefixes []string

// DefaultPrefixes returns vLLM's own prefix, that of the monitors which KServe makes on
// OpenShift AI, and that of Ray.
func DefaultPrefixes() Prefixes { return Prefixes{vllmOwn, "kserve_vllm:", "ray_vllm_"} }

const (
	// MostPrefixes bounds the prefixes: each is another selector wherever a metric is read.
	MostPrefixes = 6
	// LongestPrefix bounds one of them, in bytes.
	LongestPrefix = 64
)

// metricName is what the name of a metric may be in every version of Prometheus.
var metricName = regexp.MustCompile(`^[a-zA-Z_:][a-zA-Z0-9_:]*$`)

// ParsePrefixes reads prefixes that are separated by commas. Blanks around one do not
// count, and of equal ones the first does. The error says which of them is none.
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

// orDefault returns DefaultPrefixes in the place of none.
func (p Prefixes) orDefault() Prefixes {
	if len(p) == 0 {
		return DefaultPrefixes()
	}
	return p
}

// of returns names that begin with own under each of the prefixes: all of one name before
// the next, so that the name which is preferred counts under whichever prefix it has.
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

// renamed returns a recipe whose series have their names under each of the prefixes.
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
