package doctor

import (
	"fmt"
	"strings"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// ProbeStep is a step of a probe.
type ProbeStep string

// The steps of a probe, in their order. A probe makes those that apply to its variant.
const (
	ProbePrepared  ProbeStep = "prepared"  // the variant can be probed
	ProbeAllowed   ProbeStep = "allowed"   // the user may make its objects
	ProbeDecided   ProbeStep = "decided"   // there is a decision
	ProbeServed    ProbeStep = "served"    // the External Metrics API answers
	ProbeRead      ProbeStep = "read"      // its scaler reads the number
	ProbeSet       ProbeStep = "set"       // its scaler sets it on its target
	ProbeRemoved   ProbeStep = "removed"   // its objects are gone
	ProbeSettable  ProbeStep = "settable"  // the manager may set the replicas of the target
	ProbeRequested ProbeStep = "requested" // a real request was answered
)

// probeFindings are the findings of the steps that fail.
var probeFindings = map[ProbeStep]Code{
	ProbePrepared: "WVA0901", ProbeAllowed: "WVA0902", ProbeDecided: "WVA0903", ProbeServed: "WVA0904", ProbeRead: "WVA0905",
	ProbeSet: "WVA0906", ProbeRemoved: "WVA0907", ProbeSettable: "WVA0908", ProbeRequested: "WVA0909",
}

// ProbeResult is the outcome of a step.
type ProbeResult string

// The results.
const (
	ProbePassed  ProbeResult = "passed"
	ProbeFailed  ProbeResult = "failed"
	ProbeSkipped ProbeResult = "skipped" // it was not made, and the others go on
)

// Probed is one step with its outcome.
type Probed struct {
	Step    ProbeStep   `json:"step"`
	Result  ProbeResult `json:"result"`
	Seconds float64     `json:"seconds"` // its duration
	// Says is a sentence about what was seen, where the step passed or was skipped, or the evidence
	// where it failed.
	Says []string `json:"says"`

	names names // for the command of its finding
}

// Failing returns a failed step. words replace the words in capitals of the command of its finding.
func Failing(step ProbeStep, words map[string]string, evidence ...string) Probed {
	return Probed{Step: step, Result: ProbeFailed, Says: evidence, names: words}
}

// Probe is the result of a probe of one variant.
type Probe struct {
	Variant scaling.VariantKey `json:"variant"`
	Steps   []Probed           `json:"steps"`
	// TTFT is the TTFT of the real request, Objective that of the model, in ms; 0 for none.
	TTFT      float64 `json:"ttft,omitempty"`
	Objective float64 `json:"ttftObjective,omitempty"`
}

// Leftover is an object that a probe left.
type Leftover struct {
	Kind, Namespace, Name string
	Of                    string    // the variant that was probed
	Until                 time.Time // the latest end of its probe, zero where unknown
}

// probeGrace is how long after the end of its probe an object is taken to be just being removed.
const probeGrace = 15 * time.Second

// Over reports whether the probe of the object has ended at now, a time of the clock of the API
// server.
func (l Leftover) Over(now time.Time) bool { return now.Sub(l.Until) > probeGrace }

// String names the object.
func (l Leftover) String() string { return fmt.Sprintf("%s %s/%s", l.Kind, l.Namespace, l.Name) }

func probeChecks() []check {
	return []check{
		{
			"the probe",
			[]Code{"WVA0901", "WVA0902", "WVA0903", "WVA0904", "WVA0905", "WVA0906", "WVA0907", "WVA0908", "WVA0909", "WVA0910"},
			nil, false, probed,
		},
		{"what probes left", []Code{"WVA0907"}, []Read{ReadHPAs, ReadWorkloads}, false, leftBehind},
	}
}

// probed reports the steps of a probe.
func probed(c *Case, say *result) {
	if c.Probe == nil {
		return
	}
	v := &Variant{}
	v.Object.Namespace, v.Object.Name = c.Probe.Variant.Namespace, c.Probe.Variant.Name
	for i := range c.Variants {
		if c.Variants[i].key() == c.Probe.Variant {
			v = &c.Variants[i]
		}
	}
	for _, s := range c.Probe.Steps {
		switch s.Result {
		case ProbePassed:
			say.saw("%s (%.1f s)", strings.Join(s.Says, "; "), s.Seconds)
		case ProbeSkipped:
			say.saw("not probed: %s", strings.Join(s.Says, "; "))
		case ProbeFailed:
			say.findsOf(probeFindings[s.Step], c, v, s.names, s.Says...)
		}
	}
	if ttft, objective := c.Probe.TTFT, c.Probe.Objective; objective > 0 && ttft > objective {
		say.findsOf("WVA0910", c, v, nil, fmt.Sprintf("its TTFT was %.0f ms, and the objective is %.0f ms", ttft, objective))
	}
}

// leftBehind reports the objects of probes that have ended.
func leftBehind(c *Case, say *result) {
	for _, l := range c.Left {
		if l.Over(c.Now.Add(c.Clocks.Server.By)) {
			until := "it does not say until when its probe was to last"
			if !l.Until.IsZero() {
				until = "its probe was to end at " + l.Until.UTC().Format(time.RFC3339)
			}
			say.finds("WVA0907", names{"NAMESPACE": l.Namespace}, l.String()+", of a probe of "+l.Of+": "+until)
		}
	}
}
