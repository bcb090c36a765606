package core

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// Parts are the parts of a System, in any order.
type Parts struct {
	Accelerators []Accelerator
	Models       []Model
	Classes      []ServiceClass
	Servers      []Server
}

// System is an allocation problem: every server with its possible allocations. It is immutable and
// safe for concurrent use; the zero value has no servers.
type System struct {
	choices []Choice
}

// Choice is one server with its possible allocations.
type Choice struct {
	Server   Server
	Priority int // of its class, lower is more important
	// Candidates are sorted by value, then cost, then accelerator.
	Candidates []Allocation
	// Refused says why an accelerator gives no candidate, sorted by accelerator. An error without
	// an accelerator says why there is no candidate at all.
	Refused []InfeasibleError

	placements map[string]Placement // of Candidates, by accelerator
	rules      Rules
}

// Predict returns the allocation of replicas on the accelerator of a candidate, which share rate
// requests/s evenly; see the function Predict.
func (c Choice) Predict(accelerator string, replicas int, rate float64) (Allocation, error) {
	p, ok := c.placements[accelerator]
	if !ok {
		return Allocation{}, &InfeasibleError{Server: c.Server.Name, Accelerator: accelerator, Err: errors.New("not a candidate")}
	}
	return Predict(p, c.rules, replicas, rate)
}

// NewSystem sizes every server on every accelerator that it may use. Errors are a name used twice,
// and a class or a profile's accelerator that is not among the parts. A server that can have no
// allocation is no error: its Choice says why.
func NewSystem(parts Parts, rules Rules) (System, error) {
	x, err := newIndex(parts)
	if err != nil {
		return System{}, err
	}
	s := System{choices: make([]Choice, 0, len(parts.Servers))}
	for _, server := range parts.Servers {
		s.choices = append(s.choices, x.choice(server, rules))
	}
	slices.SortFunc(s.choices, func(a, b Choice) int { return cmp.Compare(a.Server.Name, b.Server.Name) })
	return s, nil
}

// Choices returns the servers sorted by name. The caller may modify the slice, but not the shared
// slices in its elements.
func (s System) Choices() []Choice { return slices.Clone(s.choices) }

// Choice returns the server of that name, and whether there is one.
func (s System) Choice(server string) (Choice, bool) {
	i, ok := slices.BinarySearchFunc(s.choices, server, func(c Choice, name string) int {
		return cmp.Compare(c.Server.Name, name)
	})
	if !ok {
		return Choice{}, false
	}
	return s.choices[i], true
}

// index finds parts by name.
type index struct {
	accelerators map[string]Accelerator
	profiles     map[string]map[string]Profile // by model and accelerator
	classes      map[string]ServiceClass
}

func newIndex(parts Parts) (index, error) {
	x := index{
		accelerators: make(map[string]Accelerator, len(parts.Accelerators)),
		profiles:     make(map[string]map[string]Profile, len(parts.Models)),
		classes:      make(map[string]ServiceClass, len(parts.Classes)),
	}
	var faults []error
	once := func(taken bool, kind, name string) {
		if taken {
			faults = append(faults, fmt.Errorf("two %s have the name %q", kind, name))
		}
	}
	for _, a := range parts.Accelerators {
		_, taken := x.accelerators[a.Name]
		once(taken, "accelerators", a.Name)
		x.accelerators[a.Name] = a
	}
	for _, m := range parts.Models {
		_, taken := x.profiles[m.Name]
		once(taken, "models", m.Name)
		profiles := make(map[string]Profile, len(m.Profiles))
		for _, p := range m.Profiles {
			_, taken := profiles[p.Accelerator]
			once(taken, "profiles of model "+m.Name, p.Accelerator)
			if _, ok := x.accelerators[p.Accelerator]; !ok {
				faults = append(faults, fmt.Errorf("model %q has a profile on accelerator %q, which is not among the accelerators", m.Name, p.Accelerator))
			}
			profiles[p.Accelerator] = p
		}
		x.profiles[m.Name] = profiles
	}
	for _, c := range parts.Classes {
		_, taken := x.classes[c.Name]
		once(taken, "service classes", c.Name)
		x.classes[c.Name] = c
	}
	servers := make(map[string]bool, len(parts.Servers))
	for _, s := range parts.Servers {
		once(servers[s.Name], "servers", s.Name)
		servers[s.Name] = true
		if _, ok := x.classes[s.Class]; !ok {
			faults = append(faults, fmt.Errorf("server %q is of class %q, which is not among the service classes", s.Name, s.Class))
		}
	}
	return x, errors.Join(faults...)
}

// choice sizes one server on every accelerator that it may use.
func (x index) choice(server Server, rules Rules) Choice {
	class := x.classes[server.Class]
	c := Choice{Server: server, Priority: class.Priority, placements: map[string]Placement{}, rules: rules}
	refuse := func(accelerator string, err error) {
		var infeasible *InfeasibleError
		if !errors.As(err, &infeasible) {
			infeasible = &InfeasibleError{Server: server.Name, Accelerator: accelerator, Err: err}
		}
		c.Refused = append(c.Refused, *infeasible)
	}
	if server.Load.Unknown {
		refuse("", errUnknownLoad)
		return c
	}
	target := slices.IndexFunc(class.Targets, func(t Target) bool { return t.Model == server.Model })
	if target < 0 {
		refuse("", fmt.Errorf("class %q has no targets for model %q", class.Name, server.Model))
		return c
	}
	names, err := x.usable(server)
	if err != nil {
		refuse("", err)
		return c
	}
	for _, name := range names {
		p := Placement{
			Server: server, Target: class.Targets[target],
			Accelerator: x.accelerators[name], Profile: x.profiles[server.Model][name],
		}
		a, err := CreateAllocation(p, rules)
		if err != nil {
			refuse(name, err)
			continue
		}
		c.Candidates = append(c.Candidates, a)
		c.placements[name] = p
	}
	slices.SortFunc(c.Candidates, Allocation.Compare)
	return c
}

// usable returns the names of the accelerators that a server may use, sorted.
func (x index) usable(server Server) ([]string, error) {
	profiles, ok := x.profiles[server.Model]
	if !ok {
		return nil, fmt.Errorf("model %q has no profile on any accelerator", server.Model)
	}
	current := server.Current.Accelerator
	if !server.KeepAccelerator || current == "" {
		return sortedKeys(profiles), nil
	}
	if _, ok := profiles[current]; !ok {
		return nil, fmt.Errorf("keeps accelerator %q, on which model %q has no profile", current, server.Model)
	}
	return []string{current}, nil
}
