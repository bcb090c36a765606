package explain

import (
	"fmt"
	"strings"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Actuation says which scalers carry out a decision, and whether they do. In the zero value,
// nothing is known.
type Actuation struct {
	// Own is what the manager itself sets, "" for nothing.
	Own     scaling.Actuation `json:"own,omitempty"`
	Known   bool              `json:"known"`           // whether Scalers is complete
	Fault   string            `json:"fault,omitempty"` // why it is not known to be
	Scalers []Scaler          `json:"scalers,omitempty"`
	// Reason and Message are those of the condition ScalerFollowing, "" while the object does not
	// have it.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

// Scaler is an object that sets the replicas of a target.
type Scaler struct {
	Kind string           `json:"kind"` // scaling.KindHPA or scaling.KindScaledObject
	Name string           `json:"name"`
	Min  scaling.Replicas `json:"min"`            // replicas, of its own
	Max  scaling.Replicas `json:"max"`            // replicas, of its own
	Asks scaling.Replicas `json:"asks,omitempty"` // replicas that it last wanted, 0 while it wanted none
	// Trouble is what is wrong with it by its spec and its status, "" for nothing.
	Trouble string `json:"trouble,omitempty"`
}

// ActuationBy returns the Actuation of the scalers of a target, without the condition.
func ActuationBy(all scaling.Scalers) Actuation {
	out := Actuation{Known: all.Known, Fault: all.Fault}
	if mode := all.InForce(); mode != scaling.ActuationMetrics {
		out.Own = mode
	}
	for _, s := range all.List {
		out.Scalers = append(out.Scalers, Scaler{
			Kind: s.Kind, Name: s.Name, Min: s.Bounds.Min, Max: s.Bounds.Max, Asks: s.Asks, Trouble: trouble(s),
		})
	}
	return out
}

// WhoScales names the scalers of a target, for programs: KIND/NAME of each object, "wva" for the
// manager, "wva/zero" for the manager from and to zero alone, "wva/advisory" for a manager that
// only advises, and "none". The scalers must be known.
func WhoScales(all scaling.Scalers) string {
	var names []string
	for _, s := range all.List {
		names = append(names, s.Kind+"/"+s.Name)
	}
	_, zero := all.AtZeroBy()
	switch mode := all.InForce(); {
	case mode == scaling.ActuationScale:
		names = append(names, "wva")
	case mode == scaling.ActuationZero && !zero:
		names = append(names, "wva/zero")
	case mode == scaling.ActuationAdvisory:
		names = append(names, "wva/advisory")
	case len(names) == 0:
		return "none"
	}
	return strings.Join(names, ",")
}

// trouble says what is wrong with a scaler, whatever the decision is; "" for nothing.
func trouble(s scaling.Scaler) string {
	switch {
	case s.Paused:
		return ScalerPaused(s)
	case s.Misread != "", s.Unread.Reason != "", s.Inactive.Reason != "":
		return NotReading(s)
	case s.Unable.Reason != "":
		return Refused(s)
	}
	return ""
}

// scalers returns a line for each scaler that carries out the decision.
func scalers(a Actuation) []string {
	switch a.Own {
	case scaling.ActuationAdvisory:
		return append([]string{"advisory: the manager sets nothing and publishes the decision as wva_advised_replicas, which no scaler reads"}, others(a)...)
	case scaling.ActuationScale:
		return append([]string{"the manager, by the scale subresource"}, others(a)...)
	case scaling.ActuationZero:
		return append([]string{"the manager, from and to zero where no other does, by the scale subresource"}, others(a)...)
	default:
		return others(a)
	}
}

// others returns a line for each scaler other than the manager.
func others(a Actuation) []string {
	switch {
	case !a.Known && a.Fault != "":
		return []string{"not known: " + a.Fault}
	case !a.Known:
		return []string{"not known"}
	case len(a.Scalers) == 0 && a.Own == scaling.ActuationScale:
		return nil
	case len(a.Scalers) == 0:
		return []string{"none: no HorizontalPodAutoscaler and no ScaledObject scales the target"}
	}
	out := make([]string, 0, len(a.Scalers))
	for _, s := range a.Scalers {
		text := fmt.Sprintf("%s %s %s", s.Kind, s.Name, bounds(scaling.Bounds{Min: s.Min, Max: s.Max}))
		if s.Asks > 0 {
			text += fmt.Sprintf(", last asked for %d", s.Asks)
		}
		if s.Trouble != "" {
			text += ": " + s.Trouble
		}
		out = append(out, text)
	}
	return out
}
