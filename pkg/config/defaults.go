package config

// What an absent value means.
const (
	DefaultClass    = "Free"
	DefaultPriority = LowestPriority
)

// The range of priorities: a lower number is more important.
const (
	HighestPriority = 1
	LowestPriority  = 100
)

// SaturationPolicy says what servers get that cannot have all they need. Its
// zero value is PolicyNone.
type SaturationPolicy string

// The policies, spelt as in the document.
const (
	// PolicyNone gives them nothing.
	PolicyNone SaturationPolicy = "None"
	// PolicyPriorityExhaustive gives each in turn, by priority, all that it can use
	// of what is left.
	PolicyPriorityExhaustive SaturationPolicy = "PriorityExhaustive"
	// PolicyPriorityRoundRobin gives those of one priority one replica each in
	// turn, before the next priority.
	PolicyPriorityRoundRobin SaturationPolicy = "PriorityRoundRobin"
	// PolicyRoundRobin gives all one replica each in turn.
	PolicyRoundRobin SaturationPolicy = "RoundRobin"
)

// Policies returns the saturation policies, the default first.
func Policies() []SaturationPolicy {
	return []SaturationPolicy{PolicyNone, PolicyPriorityExhaustive, PolicyPriorityRoundRobin, PolicyRoundRobin}
}
