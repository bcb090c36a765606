package scaling

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Approval says what the annotations of a variant ask for and grant. The zero value asks for no
// approval.
type Approval struct {
	// Required is true where a reduction needs approval.
	Required bool `json:"required,omitempty"`
	// After is how long a reduction waits before it is made without approval, > 0; 0 if it waits
	// without end.
	After time.Duration `json:"after,omitempty"`
	// Granted is the approval that the object carries, the zero value for none.
	Granted Grant `json:"granted,omitzero"`
}

// Grant approves one reduction.
type Grant struct {
	// Cycle is Reduction.Cycle of the reduction that is approved.
	Cycle CycleID `json:"cycle"`
	// To is the number of replicas down to which the reduction may go, >= 0.
	To Replicas `json:"to"`
}

// Reduction is a reduction that waits for approval, or that was approved and is under way. The
// zero value is none.
type Reduction struct {
	// Cycle is the cycle in which the reduction began to wait. It identifies the reduction.
	Cycle CycleID `json:"cycle"`
	// Since is the time of that cycle.
	Since time.Time `json:"since"`
	// From is the number of replicas until approval, and To the number that the latest cycle wants.
	// To no longer changes once the reduction is Approved.
	From Replicas `json:"from"`
	To   Replicas `json:"to"`
	// Approved is true if the reduction may be made: it was approved, or Approval.After has
	// passed.
	Approved bool `json:"approved,omitempty"`
}

// Waits reports whether r waits for approval.
func (r Reduction) Waits() bool { return r != Reduction{} && !r.Approved }

// String returns r as a status holds it and ParseReduction reads it: cycle, Since, From, To.
// Approved is not part of it.
func (r Reduction) String() string {
	return fmt.Sprintf("%s %s %d %d", r.Cycle, r.Since.UTC().Format(time.RFC3339Nano), r.From, r.To)
}

// ParseReduction reads what Reduction.String returns.
func ParseReduction(text string) (Reduction, error) {
	var since string
	var r Reduction
	if _, err := fmt.Sscanf(text, "%s %s %d %d", &r.Cycle, &since, &r.From, &r.To); err != nil {
		return Reduction{}, fmt.Errorf("reading a reduction of %q: %w", text, err)
	}
	at, err := time.Parse(time.RFC3339Nano, since)
	if err != nil || r.To < 0 || r.From < r.To {
		return Reduction{}, fmt.Errorf("reading a reduction of %q: want a cycle, a time and two numbers of replicas", text)
	}
	r.Since = at
	return r, nil
}

// FactReduction is the prefix of the line with a Reduction in a status's fact of ChangesAllowed.
const FactReduction = "Reduction "

// ReductionIn returns the reduction in a fact of ChangesAllowed, and false if there is none or it
// cannot be read.
func ReductionIn(fact string) (Reduction, bool) {
	for line := range strings.SplitSeq(fact, "\n") {
		if text, ok := strings.CutPrefix(line, FactReduction); ok {
			r, err := ParseReduction(text)
			return r, err == nil
		}
	}
	return Reduction{}, false
}

// Descriptions of the accepted annotations.
const (
	// ApprovalWanted describes the texts that ParseApproval accepts.
	ApprovalWanted = `"shrink", "shrink;after=DURATION" with a duration above 0 such as 4h, or "none"`
	// GrantWanted describes the text that ParseGrant accepts.
	GrantWanted = `"to=NUMBER;cycle=CYCLE", as wva approve writes it`
)

// ParseApproval parses the annotation that asks for approval: "shrink", "shrink;after=4h", or
// "none". For any other text it returns an error and an Approval that is required without end: a
// typing error must not remove replicas that a user wants to keep.
func ParseApproval(text string) (Approval, error) {
	what, rest, limited := strings.Cut(text, ";")
	switch {
	case text == "none":
		return Approval{}, nil
	case what != "shrink":
		return Approval{Required: true}, fmt.Errorf("want %s", ApprovalWanted)
	case !limited:
		return Approval{Required: true}, nil
	}
	value, named := strings.CutPrefix(rest, "after=")
	after, err := time.ParseDuration(value)
	if !named || err != nil || after <= 0 {
		return Approval{Required: true}, fmt.Errorf("want %s", ApprovalWanted)
	}
	return Approval{Required: true, After: after}, nil
}

// ParseGrant parses the annotation that approves a reduction, as Grant.String writes it.
func ParseGrant(text string) (Grant, error) {
	number, cycle, ok := strings.Cut(text, ";cycle=")
	number, named := strings.CutPrefix(number, "to=")
	to, err := strconv.ParseUint(number, 10, 31)
	if !ok || !named || err != nil || cycle == "" {
		return Grant{}, fmt.Errorf("want %s", GrantWanted)
	}
	return Grant{Cycle: CycleID(cycle), To: Replicas(to)}, nil
}

// String returns the text of the annotation: "to=2;cycle=k7hw2cxd-12".
func (g Grant) String() string { return fmt.Sprintf("to=%d;cycle=%s", g.To, g.Cycle) }
