package config

// The values that stand for absent ones.
const (
	DefaultClass    = "Free"
	DefaultPriority = LowestPriority
)

// The range of priorities: a lower number is more important.
const (
	HighestPriority = 1
	LowestPriority  = 100
)

// SaturationPolicy says what a server gets when the stock does not suffice for all it needs. The
// zero value means PolicyNone.
type SaturationPolicy string

// The policies, spelled as in the document.
const (
	// PolicyNone gives such a server nothing.
	PolicyNone SaturationPolicy = "None"
	// PolicyPriorityExhaustive gives each server in turn, by priority, all that it can use of the
	// remaining stock.
	PolicyPriorityExhaustive SaturationPolicy = "PriorityExhaustive"
	// PolicyPriorityRoundRobin gives the servers of one priority one replica each in turn, then
	// those of the next priority.
	PolicyPriorityRoundRobin SaturationPolicy = "PriorityRoundRobin"
	// PolicyRoundRobin gives all servers one replica each in turn.
	PolicyRoundRobin SaturationPolicy = "RoundRobin"
)

// Policies returns the saturation policies, the default first.
func Policies() []SaturationPolicy {
	return []SaturationPolicy{PolicyNone, PolicyPriorityExhaustive, PolicyPriorityRoundRobin, PolicyRoundRobin}
}
