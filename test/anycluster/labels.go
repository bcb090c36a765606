package anycluster

import (
	"fmt"
	"slices"
	"strings"
)

// Label names a scenario.
type Label string

// The scenarios; see the package's documentation.
const (
	Saturation Label = "saturation"
	Model      Label = "model"
	Zero       Label = "zero"
	OpenShift  Label = "openshift"
	Kind       Label = "kind"
)

// All returns every label.
func All() []Label { return []Label{Saturation, Model, Zero, OpenShift, Kind} }

// ParseLabels reads labels separated by commas; "" is none.
func ParseLabels(text string) ([]Label, error) {
	var labels []Label
	for word := range strings.SplitSeq(text, ",") {
		l := Label(strings.TrimSpace(word))
		switch {
		case l == "" || slices.Contains(labels, l):
		case slices.Contains(All(), l):
			labels = append(labels, l)
		default:
			return nil, fmt.Errorf("label %q, want some of %s", l, strings.Join(words(All()), ","))
		}
	}
	return labels, nil
}

func words(labels []Label) []string {
	var all []string
	for _, l := range labels {
		all = append(all, string(l))
	}
	return all
}

// Choice is the scenarios that run and those that do not.
type Choice struct {
	Chosen []Label
	Left   map[Label]string // the scenarios left out, with what the cluster lacks
}

// choose returns the scenarios to run of those asked for; none asked means all that the cluster can
// run. A scenario that was asked for and cannot run is an error.
func choose(asked []Label, f Facts) (Choice, error) {
	c := Choice{Left: map[Label]string{}}
	for _, l := range All() {
		lacks := f.Lacks(l)
		switch {
		case len(asked) > 0 && !slices.Contains(asked, l):
		case lacks == "":
			c.Chosen = append(c.Chosen, l)
		case len(asked) == 0:
			c.Left[l] = lacks
		default:
			return Choice{}, fmt.Errorf("scenario %s cannot be run here: %s", l, lacks)
		}
	}
	return c, nil
}
