package report

import (
	"fmt"
	"math"
	"strings"
)

// verdict compares, in a sentence or two, the best policy of this project with the best of the
// others; "" if neither was measured.
func verdict(ranked []Result, o Objectives, c Clairvoyant) string {
	own, ownFound := best(ranked, o, true)
	peer, peerFound := best(ranked, o, false)
	var said []string
	switch {
	case ownFound && peerFound:
		said = append(said, result(own, o)+", "+compared(own, peer, o)+".")
	case ownFound:
		said = append(said, result(own, o)+".")
	case peerFound:
		said = append(said, result(peer, o)+".")
	default:
		return ""
	}
	if subject := firstKnown(ownFound, own, peer); c.reaches(o) && o.outcome(subject) == meets {
		said = append(said, fmt.Sprintf("That is %s times the cost of the best schedule that was found by knowing every arrival.",
			number(subject.Measures.Cost.Mean/c.Cost.Mean)))
	}
	return strings.Join(said, " ")
}

// reaches reports whether there is a schedule with a cost that meets the attainment.
func (c Clairvoyant) reaches(o Objectives) bool {
	return c.Cost.Known() && c.Cost.Mean > 0 && c.Attainment.Known() && c.Attainment.Mean >= o.Attainment
}

func firstKnown(ownFound bool, own, peer Result) Result {
	if ownFound {
		return own
	}
	return peer
}

// best returns the best policy of this project, or of the others; false if none has an outcome.
func best(ranked []Result, o Objectives, own bool) (Result, bool) {
	for _, p := range ranked {
		if p.Own == own && o.outcome(p) != unknown {
			return p, true
		}
	}
	return Result{}, false
}

// result returns the clause on the result of a policy.
func result(p Result, o Objectives) string {
	m := p.Measures
	verb := "misses"
	if o.outcome(p) == meets {
		verb = "reaches"
	}
	return fmt.Sprintf("%s %s the target: %s of the requests within their objectives (%s asked for) at a cost of %s",
		p.Name, verb, percent(m.Attainment.Mean), percent(o.Attainment), number(m.Cost.Mean))
}

// compared returns the clause that compares a policy of this project with one of the others.
func compared(own, peer Result, o Objectives) string {
	reached := [2]bool{o.outcome(own) == meets, o.outcome(peer) == meets}
	switch reached {
	case [2]bool{true, true}:
		return difference(own.Measures.Cost, peer.Measures.Cost) + " " + peer.Name + ", the cheapest of the others that reach it"
	case [2]bool{true, false}:
		return "and none of the others reaches it"
	case [2]bool{false, true}:
		return fmt.Sprintf("while %s reaches it at %s", peer.Name, number(peer.Measures.Cost.Mean))
	default:
		return fmt.Sprintf("as do all others; %s comes to %s at %s", peer.Name, percent(peer.Measures.Attainment.Mean), number(peer.Measures.Cost.Mean))
	}
}

// difference compares two costs: "12 % less than", "as much as".
func difference(cost, other Spread) string {
	if other.Mean <= 0 {
		return "compared with " + number(other.Mean) + " for"
	}
	change := math.Round(100 * (cost.Mean/other.Mean - 1))
	switch {
	case change != 0 && cost.same(other):
		return "as much, within the error, as"
	case change < 0:
		return fmt.Sprintf("%.0f%s%% less than", -change, space)
	case change > 0:
		return fmt.Sprintf("%.0f%s%% more than", change, space)
	default:
		return "as much as"
	}
}
