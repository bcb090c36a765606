package doctor

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// passing is how long an obstacle that may pass must last before it is a finding: the same time as
// for the condition of the manager.
const passing = time.Minute

func scalerChecks() []check {
	return []check{
		{
			"scalers",
			[]Code{"WVA0601", "WVA0602", "WVA0603", "WVA0604", "WVA0605", "WVA0606", "WVA0607", "WVA0608", "WVA0609", "WVA0610", "WVA0611"},
			[]Read{ReadVariants, ReadHPAs, ReadKEDA, ReadWorkloads},
			false, scalersFollow,
		},
		{"External Metrics", []Code{"WVA0609"}, []Read{ReadAPIService}, true, externalMetricsFree},
	}
}

func scalersFollow(c *Case, say *result) {
	c.each(say, "a scaler reads the decision and may carry it out", func(v *Variant) {
		if !v.won() || v.Resolved.Missing != "" || v.Scalers.InForce() == scaling.ActuationScale {
			return
		}
		o := followed{Case: c, Variant: v, say: say}
		switch all := v.Scalers.List; {
		case len(all) == 0:
			say.findsOf("WVA0601", c, v, nil, explain.NoScaler(v.Resolved.Target))
		case len(all) > 1:
			o.rivals(all, explain.Rivals(all))
		default:
			o.one(all[0])
		}
	})
	if c.API.Present && !c.API.Available && c.readsExternal() {
		say.finds("WVA0610", nil, fmt.Sprintf("APIService %s leads to Service %s: %s", externalAPI, c.API.Service, cut(c.API.Message)))
	} else if c.API.Present {
		say.saw("%s is served by Service %s", externalAPI, c.API.Service)
	}
}

// externalMetricsFree checks, before an installation, whether another program serves External
// Metrics.
func externalMetricsFree(c *Case, say *result) {
	switch {
	case !c.Pre:
	case !c.API.Present:
		say.saw("no other serves %s", externalAPI)
	case c.ours() || strings.Contains(c.API.Service, "adapter"):
		say.saw("%s is served by Service %s", externalAPI, c.API.Service)
	default:
		say.finds("WVA0609", nil, fmt.Sprintf("APIService %s leads to Service %s", externalAPI, c.API.Service))
	}
}

// externalAPI is the API service that HPAs read External Metrics from.
const externalAPI = "v1beta1.external.metrics.k8s.io"

// readsExternal reports whether a variant has an HPA that reads External Metrics.
func (c *Case) readsExternal() bool {
	return slices.ContainsFunc(c.Variants, func(v Variant) bool {
		return slices.ContainsFunc(v.Scalers.List, func(s scaling.Scaler) bool { return s.Misread == "" && s.Kind == scaling.KindHPA })
	})
}

// followed checks the scaler of a variant.
type followed struct {
	*Case
	*Variant

	say *result
}

func (o followed) names(s scaling.Scaler) names {
	return names{"SCALERKIND": strings.ToLower(s.Kind), "SCALER": s.Name}
}

func (o followed) rivals(all []scaling.Scaler, evidence string) {
	spare := all[0] // the one to delete: a scaler that does not read the decision
	for _, s := range all {
		if s.Misread != "" {
			spare = s
		}
	}
	o.say.findsOf("WVA0606", o.Case, o.Variant, o.names(spare), evidence)
}

// desired returns the replicas decided on, and false where they are unknown.
func (o followed) desired() (scaling.Replicas, bool) {
	if e, ok := o.Answer.Known[o.key()]; ok && e.Decided {
		return e.Decision.Target(), true
	}
	if d := o.Object.Status.DesiredOptimizedAlloc; d != nil {
		return scaling.Replicas(d.NumReplicas), true
	}
	return 0, false
}

// lasts reports whether a trouble that may pass has lasted for passing, or the manager names it.
func (o followed) lasts(t scaling.Trouble, as v1alpha1.ConditionReason) bool {
	_, named := o.says(v1alpha1.ConditionScalerFollowing, as)
	return t.Reason != "" && (named || !t.Since.IsZero() && o.Now.Sub(t.Since) >= passing)
}

// one checks the only scaler of the target: first whether it reads the decision, then whether its
// behavior, its bounds and its tolerance let it carry the decision out.
func (o followed) one(s scaling.Scaler) {
	if o.deaf(s) {
		return
	}
	o.disabled(s)
	o.bounded(s)
	o.tolerates(s)
}

// find adds a finding about a scaler.
func (o followed) find(code Code, s scaling.Scaler, evidence ...string) {
	o.say.findsOf(code, o.Case, o.Variant, o.names(s), evidence...)
}

// deaf reports whether a scaler does not read the decision, and adds the finding why.
func (o followed) deaf(s scaling.Scaler) bool {
	switch {
	case s.Paused:
		o.find("WVA0607", s, explain.ScalerPaused(s))
	case s.Misread != "" && s.Multiplies:
		o.find("WVA0611", s, explain.NotReading(s))
	case s.Misread != "":
		o.find("WVA0602", s, explain.NotReading(s))
	case s.AtZero && o.Resolved.Replicas.Current == 0:
		o.find("WVA0601", s, explain.AtZero(s))
	case o.File != "":
		return false // no controller has seen it yet
	// Another API service never gets to know the decision by itself: this does not have to last.
	case o.lasts(s.Inactive, v1alpha1.ReasonHPANotReadingMetric), s.Inactive.Reason != "" && o.API.Available && !o.ours():
		o.inactive(s)
	case o.lasts(s.Unread, v1alpha1.ReasonHPANotReadingMetric):
		o.find("WVA0608", s, explain.NotReading(s))
	default:
		return false
	}
	return true
}

// direction is a direction in which a scaler may have to go.
type direction struct {
	name  string
	may   bool // the decision, or the bounds of the variant, may take it there
	rules scaling.ScalerRules
}

// disabled finds directions that a scaler disables although it may have to go there.
func (o followed) disabled(s scaling.Scaler) {
	current := o.Resolved.Replicas.Current
	desired, known := o.desired()
	up, down := o.mayGo()
	for _, d := range []direction{{"scaleUp", up || known && desired > current, s.Up}, {"scaleDown", down || known && desired < current, s.Down}} {
		if d.rules.Disabled && d.may {
			n := o.names(s)
			n["DIRECTION"] = d.name
			o.say.findsOf("WVA0604", o.Case, o.Variant, n, explain.Disabled(s, d.name))
		}
	}
}

// bounded finds that the bounds of a scaler keep the target from the decision, or from any other
// number.
func (o followed) bounded(s scaling.Scaler) {
	current := o.Resolved.Replicas.Current
	desired, known := o.desired()
	up, down := o.mayGo()
	ownZero := desired == 0 && o.Scalers.InForce() == scaling.ActuationZero
	fixed := s.Bounds == scaling.Bounds{Min: current, Max: current}
	switch {
	case known && !ownZero && s.Bounds.Clamp(desired) != desired:
		o.find("WVA0605", s, fmt.Sprintf("%s are decided. %s", desired.Text(), explain.BeyondBounds(s, desired, o.Scalers.Zero)))
	case fixed && (up || down && current > 1):
		o.find("WVA0605", s, explain.Confined(s))
	}
}

// tolerates finds that the decision is within the tolerance of a scaler.
func (o followed) tolerates(s scaling.Scaler) {
	current := o.Resolved.Replicas.Current
	desired, known := o.desired()
	if !known || desired == current {
		return
	}
	name, rules := "scaleUp", s.Up
	if desired < current {
		name, rules = "scaleDown", s.Down
	}
	_, named := o.says(v1alpha1.ConditionScalerFollowing, v1alpha1.ReasonHPATolerance)
	if (named || rules.Explicit) && scaling.Tolerates(rules.Tolerance, desired, current) {
		n := o.names(s)
		n["DIRECTION"] = name
		o.say.findsOf("WVA0603", o.Case, o.Variant, n, fmt.Sprintf("%s run and %s are decided", current.Text(), desired.Text()), explain.Tolerated(s, name, rules))
	}
}

// mayGo reports whether the bounds of the variant allow more replicas, and fewer. Zero does not
// count as fewer.
func (o followed) mayGo() (more, fewer bool) {
	current := o.Resolved.Replicas.Current
	return current < o.Resolved.Bounds.Max, current > max(1, o.Resolved.Bounds.Min)
}

// inactive finds why a scaler that reads the decision reports that it computes no number.
func (o followed) inactive(s scaling.Scaler) {
	evidence := explain.NotReading(s)
	api := o.API
	_, unread := o.Missed[ReadAPIService]
	served := fmt.Sprintf("APIService %s leads to Service %s", externalAPI, api.Service)
	switch {
	case s.Inactive.Reason == "AmbiguousSelector":
		o.rivals([]scaling.Scaler{s}, evidence)
	case !strings.Contains(s.Inactive.Reason, "External") && s.Kind == scaling.KindHPA:
		o.find("WVA0602", s, evidence)
	case unread || s.Kind != scaling.KindHPA:
		o.find("WVA0608", s, evidence)
	case !api.Present:
		o.find("WVA0608", s, evidence, "there is no APIService "+externalAPI)
	case !api.Available:
		// scalersFollow adds WVA0610 for the installation.
	case strings.Contains(s.Inactive.Message, "x509"):
		o.find("WVA0610", s, evidence, served)
	case o.ours() || strings.Contains(api.Service, "adapter") && !o.servesExternal():
		o.find("WVA0608", s, evidence, served)
	default:
		if o.servesExternal() {
			served += ", and the manager serves External Metrics, too"
		}
		o.find("WVA0609", s, evidence, served)
	}
}

// ours reports whether the Service of External Metrics is in the manager's namespace.
func (c *Case) ours() bool { return strings.HasPrefix(c.API.Service, c.System+"/") }

// ManagerServesMetrics reports whether a manager answers the requests for External Metrics.
func (c *Case) ManagerServesMetrics() bool { return c.API.Present && c.ours() && c.servesExternal() }

// servesExternal reports whether a manager in the system namespace serves External Metrics.
func (c *Case) servesExternal() bool {
	return slices.ContainsFunc(c.Managers, func(m Manager) bool { return m.External && strings.HasPrefix(m.Name, c.System+"/") })
}
