package solver

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/llm-d-incubation/workload-variant-autoscaler/pkg/core"
)

// Constraints limit a solution. The zero value limits nothing.
type Constraints struct {
	// Limited says that the solution uses at most the accelerators of Stock.
	Limited bool
	// Stock is the number of accelerators by type, 0 or more; a missing type has none. It is only
	// read if Limited is true.
	Stock map[string]int
	// Bounds limits the replicas of a variant. A variant without an entry is not limited. With
	// MIPOptions.Mix a served server has at least Min replicas of every variant that it may use:
	// where one of them is out of stock, the server is not served.
	Bounds map[Variant]Bounds
}

// Variant is one server on one accelerator.
type Variant struct{ Server, Accelerator string }

// Bounds is the range of replicas that a variant may have if it is chosen.
type Bounds struct {
	Min int // 0 or more
	Max int // Min or more; 0 forbids the variant
}

// validate returns an error for the first entry out of its range.
func (c Constraints) validate(system core.System) error {
	for _, name := range slices.Sorted(maps.Keys(c.Stock)) {
		if n := c.Stock[name]; n < 0 {
			return fmt.Errorf("constraints: stock of %q is %d: want 0 or more", name, n)
		}
	}
	byName := func(a, b Variant) int {
		return cmp.Or(cmp.Compare(a.Server, b.Server), cmp.Compare(a.Accelerator, b.Accelerator))
	}
	for _, v := range slices.SortedFunc(maps.Keys(c.Bounds), byName) {
		b := c.Bounds[v]
		if _, ok := system.Choice(v.Server); !ok {
			return fmt.Errorf("constraints: bounds of server %q: there is no such server", v.Server)
		}
		if b.Min < 0 || b.Max < b.Min {
			return fmt.Errorf("constraints: bounds of server %q on %q are %d to %d: want 0 <= minimum <= maximum",
				v.Server, v.Accelerator, b.Min, b.Max)
		}
	}
	return nil
}

// choices returns the servers with the candidates that the bounds allow: a candidate below its
// minimum is raised to it, one above its maximum is refused.
func (c Constraints) choices(system core.System) []core.Choice {
	choices := system.Choices()
	if len(c.Bounds) == 0 {
		return choices
	}
	for i := range choices {
		choices[i] = c.bound(choices[i])
	}
	return choices
}

func (c Constraints) bound(choice core.Choice) core.Choice {
	candidates := make([]core.Allocation, 0, len(choice.Candidates))
	refused := slices.Clone(choice.Refused)
	refuse := func(accelerator string, err error) {
		refused = append(refused, core.InfeasibleError{Server: choice.Server.Name, Accelerator: accelerator, Err: err})
	}
	for _, a := range choice.Candidates {
		b, ok := c.Bounds[Variant{choice.Server.Name, a.Accelerator}]
		switch {
		case !ok:
		case a.Replicas > b.Max:
			refuse(a.Accelerator, fmt.Errorf("takes %d replicas, and may have at most %d", a.Replicas, b.Max))
			continue
		case a.Replicas < b.Min:
			raised, err := choice.Predict(a.Accelerator, b.Min, a.Demand)
			if err != nil {
				refuse(a.Accelerator, errors.Unwrap(err))
				continue
			}
			a = raised
		}
		candidates = append(candidates, a)
	}
	slices.SortFunc(candidates, core.Allocation.Compare)
	choice.Candidates, choice.Refused = candidates, refused
	return choice
}

// stock is the number of accelerators left, by type.
type stock map[string]int

// fits returns how many of the replicas of an allocation the stock allows.
func (s stock) fits(a core.Allocation) int {
	if a.Units == 0 {
		return a.Replicas
	}
	return min(a.Replicas, s[a.Type]/a.Units)
}

// take removes the accelerators of an allocation.
func (s stock) take(a core.Allocation) { s[a.Type] -= a.Replicas * a.Units }
