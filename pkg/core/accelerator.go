package core

// Accelerator is one unit that a replica may be placed on: one card, or several
// of one type that are always taken together.
type Accelerator struct {
	Name         string  // unique in a System
	Type         string  // type by which stock is counted; empty is the name
	Multiplicity int     // cards of the type in one unit; 0 is 1
	Cost         float64 // of one unit per hour, multiplicity included, 0 or more
	Power        Power
}

// stockType returns the type by which the stock of the accelerator is counted.
func (a Accelerator) stockType() string {
	if a.Type == "" {
		return a.Name
	}
	return a.Type
}

// Power is the electric power that an accelerator draws by its utilization:
// linear from Idle to Mid at MidUtilization, and on to Full.
type Power struct {
	Idle, Mid, Full float64 // W
	MidUtilization  float64 // ratio, 0 to 1
}

// At returns the power in W at a utilization. A utilization outside of 0 to 1
// counts as the nearer end.
func (p Power) At(utilization float64) float64 {
	u := min(max(utilization, 0), 1)
	if u < p.MidUtilization {
		return p.Idle + (p.Mid-p.Idle)*u/p.MidUtilization
	}
	if p.MidUtilization >= 1 {
		return p.Mid
	}
	return p.Mid + (p.Full-p.Mid)*(u-p.MidUtilization)/(1-p.MidUtilization)
}
