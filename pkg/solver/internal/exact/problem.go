package exact

import (
	"errors"
	"fmt"
	"math"
)

// Unlimited is the stock of a type that never runs out and the Max of an
// option without an upper limit. A negative number means the same.
const Unlimited = math.MaxInt

// ErrInvalid is wrapped by every error that [Solve] returns:
// the problem or the start breaks a range stated at the field it names.
var ErrInvalid = errors.New("invalid problem")

// A Problem asks how many replicas of each option every group should run. Solve only reads it.
type Problem struct {
	Types  []Type
	Groups []Group
}

// A Type is one kind of accelerator.
type Type struct {
	Name  string // unique in the problem
	Stock int    // units that all replicas together may use, [Unlimited] or negative if they never run out
}

// A Group is one demand, which its options cover together (a model and its
// variants).
type Group struct {
	Name     string // unique in the problem
	Priority int    // lower is more important
	// Demand is what the replicas of the group must cover in sum, >= 0, in any
	// unit that Capacity of its options shares. A demand of 0 is covered by the
	// Min of the options.
	Demand  float64
	Options []Option
}

// An Option is one way to serve a group: so many units of one type for each
// replica. The cost of n replicas is
//
//	Cost*n + AddCost*max(0, n-Current) + RemoveCost*max(0, Current-n)
//
// and StartCost once more when Current is 0 and n is not. All costs are in one
// unit, finite and >= 0.
type Option struct {
	Name     string  // unique in the group
	Type     int     // index in Problem.Types
	Units    int     // units of that type for each replica, >= 0
	Capacity float64 // the demand that one replica covers, in the unit of Group.Demand, > 0 and finite

	Min     int // fewest replicas of a group that is served, >= 0
	Max     int // most replicas, >= Min; 0 forbids the option, [Unlimited] or negative is no limit
	Current int // replicas that run now, >= 0

	Cost       float64 // of running one replica
	AddCost    float64 // of each replica above Current
	RemoveCost float64 // of each replica below Current
	StartCost  float64 // of running any when Current is 0, once
}

// coverTolerance is the share of a demand that may stay uncovered because of rounding: sums of
// capacities depend in their last digits on the order of summing.
const coverTolerance = 1e-9

// covers reports whether the capacity meets the demand of the group.
func (g Group) covers(capacity float64) bool {
	return capacity >= g.Demand*(1-coverTolerance)
}

// price returns the cost of n replicas of the option.
func (o Option) price(n int) float64 {
	cost := o.Cost * float64(n)
	switch {
	case n < o.Current:
		cost += o.RemoveCost * float64(o.Current-n)
	case n > o.Current:
		cost += o.AddCost * float64(n-o.Current)
		if o.Current == 0 {
			cost += o.StartCost
		}
	}
	return cost
}

// limit returns n, or Unlimited for a negative n.
func limit(n int) int {
	if n < 0 {
		return Unlimited
	}
	return n
}

// maxReplicas limits counts, so that products and sums of them are exact in an int and in a
// float64.
const maxReplicas = 1 << 31

func (p Problem) validate() error {
	types := make(map[string]bool, len(p.Types))
	for _, t := range p.Types {
		if types[t.Name] {
			return fmt.Errorf("%w: type %q is there twice, names must differ", ErrInvalid, t.Name)
		}
		types[t.Name] = true
	}
	groups := make(map[string]bool, len(p.Groups))
	for _, g := range p.Groups {
		if groups[g.Name] {
			return fmt.Errorf("%w: group %q is there twice, names must differ", ErrInvalid, g.Name)
		}
		groups[g.Name] = true
		if err := g.validate(len(p.Types)); err != nil {
			return err
		}
	}
	return nil
}

func (g Group) validate(types int) error {
	if !amount(g.Demand) {
		return fmt.Errorf("%w: group %q: demand is %v, must be finite and at least 0", ErrInvalid, g.Name, g.Demand)
	}
	names := make(map[string]bool, len(g.Options))
	for _, o := range g.Options {
		if names[o.Name] {
			return fmt.Errorf("%w: group %q: option %q is there twice, names must differ", ErrInvalid, g.Name, o.Name)
		}
		names[o.Name] = true
		if err := o.validate(types); err != nil {
			return fmt.Errorf("%w: group %q: option %q: %w", ErrInvalid, g.Name, o.Name, err)
		}
		if need := g.Demand / o.Capacity; need > maxReplicas {
			return fmt.Errorf("%w: group %q: option %q: the demand of %v takes %.3g replicas of capacity %v, at most %d are supported",
				ErrInvalid, g.Name, o.Name, g.Demand, need, o.Capacity, maxReplicas)
		}
	}
	return nil
}

func (o Option) validate(types int) error {
	if o.Type < 0 || o.Type >= types {
		return fmt.Errorf("type is %d, must be an index below %d", o.Type, types)
	}
	if !amount(o.Capacity) || o.Capacity == 0 {
		return fmt.Errorf("capacity is %v, must be finite and above 0", o.Capacity)
	}
	for _, n := range []struct {
		name  string
		value int
	}{{"units", o.Units}, {"min", o.Min}, {"current", o.Current}} {
		if n.value < 0 || n.value > maxReplicas {
			return fmt.Errorf("%s is %d, must be from 0 to %d", n.name, n.value, maxReplicas)
		}
	}
	if limit(o.Max) < o.Min {
		return fmt.Errorf("max is %d, must not be below min, which is %d", o.Max, o.Min)
	}
	for _, c := range []struct {
		name  string
		value float64
	}{
		{"cost", o.Cost},
		{"add cost", o.AddCost},
		{"remove cost", o.RemoveCost},
		{"start cost", o.StartCost},
	} {
		if !amount(c.value) {
			return fmt.Errorf("%s is %v, must be finite and at least 0", c.name, c.value)
		}
	}
	return nil
}

// amount reports whether x is finite and not negative.
func amount(x float64) bool { return x >= 0 && !math.IsInf(x, 1) }
