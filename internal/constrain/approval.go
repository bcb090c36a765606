package constrain

import (
	"fmt"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Approve keeps the replicas of variants whose reductions need approval (scaling.Approval) until
// the reduction is approved. It never delays growth.
//
//	state          what the cycle sees                                       next state
//	nothing waits  fewer replicas are wanted than stay                       waits, identified by this cycle
//	waits          an approval of this reduction; or Approval.After passed   approved, down to that number
//	waits          no fewer are wanted than stay                             nothing waits
//	approved       the target has that number; the decision grows;           nothing waits
//	               or no fewer are wanted than stay, once the target followed
//	approved       the approval was removed                                  waits
//
// The replicas that stay are the fewer of the last desired ones and those that run
// (memory.Reductions): the cancellation of an order that was never Ready gives nothing up. A
// decision that only repeats the last one, because it has no analysis, is withheld or is paused,
// does not end a wait.
//
// The stage follows Stabilize, so a reduction has been wanted for long enough before it asks. A
// reduction in steps asks for all of its steps at once.
func Approve(in Input, plan scaling.Plan) scaling.Plan {
	out := scaling.Plan{At: plan.At, Decisions: make([]scaling.Decision, 0, len(plan.Decisions))}
	for _, d := range plan.Decisions {
		if v, ok := in.Variants[d.Variant]; ok && v.Approval.Required {
			d = approve(in, v, d)
		}
		out.Decisions = append(out.Decisions, d)
	}
	return out
}

func approve(in Input, v scaling.Variant, d scaling.Decision) scaling.Decision {
	r, stays := in.History[v.Key].Reductions.Reduction, staying(in, v)
	if v.Replicas.Observed {
		wanted := wholeReduction(in, v, d, stays)
		if ended(in, v, d, wanted, stays) {
			r = scaling.Reduction{}
		}
		if r == (scaling.Reduction{}) && wanted < stays {
			r = scaling.Reduction{Cycle: in.Cycle, Since: in.Now}
		}
		if r.Waits() && wanted < stays {
			r.From, r.To = stays, wanted
		}
	}
	d.Reduction = approved(r, v.Approval, in.Now)
	if least := leastApproved(in, v, d); d.Target() < least {
		d = d.Then(scaling.StageApproval, least, scaling.ReasonAwaitingApproval, awaiting(v, d, least))
	}
	return d
}

// staying returns how many replicas stay without an approval.
func staying(in Input, v scaling.Variant) scaling.Replicas {
	stays := in.History.LastDesired(v)
	if seen := in.History[v.Key].Reductions.Then(v); seen.Known {
		stays = min(stays, seen.Ran)
	}
	return stays
}

// wholeReduction returns the number of replicas that the whole reduction leaves, of which d may be
// a step: the largest number wanted in the stabilization period.
func wholeReduction(in Input, v scaling.Variant, d scaling.Decision, stays scaling.Replicas) scaling.Replicas {
	wanted := d.Target()
	if n := len(d.Steps); n > 0 && d.Steps[n-1].Reason == scaling.ReasonStepLimited {
		wanted = min(wanted, d.Steps[n-1].From)
	}
	if wanted >= stays {
		return wanted
	}
	return min(wanted, Wants(in, d).MostSince(in.Now.Add(-in.Policies[d.Model].reductionPeriod(v))).Replicas)
}

// ended reports whether the remembered reduction has ended: it was carried out, or replicas are no
// longer to be given up.
func ended(in Input, v scaling.Variant, d scaling.Decision, wanted, stays scaling.Replicas) bool {
	r, before := in.History[v.Key].Reductions.Reduction, in.History.LastDesired(v)
	switch {
	case r.Approved && v.Replicas.Current <= r.To, d.Target() > before:
		return true
	case r.Approved && v.Replicas.Current > before:
		return false // the target has yet to follow
	case d.Fallback || d.Withheld || v.Paused:
		return false // the decision only repeats the last one
	}
	return wanted >= stays
}

// approved returns r with its approval, if any, at now.
func approved(r scaling.Reduction, a scaling.Approval, now time.Time) scaling.Reduction {
	switch {
	case r == (scaling.Reduction{}):
	case a.Granted.Cycle == r.Cycle && a.Granted.Cycle != "" && a.Granted.To < r.From:
		r.To, r.Approved = a.Granted.To, true
	default:
		r.Approved = a.After > 0 && now.Sub(r.Since) >= a.After
	}
	return r
}

// leastApproved returns the number of replicas below which d must not go. d.Reduction is set.
func leastApproved(in Input, v scaling.Variant, d scaling.Decision) scaling.Replicas {
	stays := staying(in, v)
	if d.Reduction.Approved {
		return min(stays, d.Reduction.To)
	}
	return stays
}

// awaiting describes the reduction that waits, and what ends the wait.
func awaiting(v scaling.Variant, d scaling.Decision, least scaling.Replicas) string {
	r, cause := d.Reduction, d.Cause()
	if r.Approved {
		return fmt.Sprintf("%d are approved, by the approval of cycle %s; fewer need another", r.To, r.Cycle)
	}
	text := fmt.Sprintf("%d would do (%s) and %d stay until that is approved: wva approve %s -n %s", r.To, cause.Reason, least, v.Key.Name, v.Key.Namespace)
	if r == (scaling.Reduction{}) {
		text = fmt.Sprintf("%d stay: a reduction needs approval, which is not asked for while the target cannot be read", least)
	}
	switch g := v.Approval.Granted; {
	case g.Cycle == "" || r.Cycle == "":
	case g.Cycle == r.Cycle:
		text += fmt.Sprintf("; the approval of %d gives nothing up", g.To)
	default:
		text += fmt.Sprintf("; the approval of cycle %s is of another decision, this one is of cycle %s", g.Cycle, r.Cycle)
	}
	if v.Approval.After > 0 {
		text += fmt.Sprintf("; without approval it is made at %s", r.Since.Add(v.Approval.After).UTC().Format(time.RFC3339))
	}
	return text
}
