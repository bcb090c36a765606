package solver

import (
	"fmt"
	"slices"

	"github.com/llm-d-incubation/workload-variant-autoscaler/pkg/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/pkg/core"
)

// checkPolicy returns p, or PolicyNone for the empty policy. Its error is an unknown policy.
func checkPolicy(p config.SaturationPolicy) (config.SaturationPolicy, error) {
	if p == "" {
		return config.PolicyNone, nil
	}
	if !slices.Contains(config.Policies(), p) {
		return "", fmt.Errorf("saturation policy %q: want one of %q", p, config.Policies())
	}
	return p, nil
}

// bestEffort gives servers that could not be served in full the part of the remaining stock that
// the policy allows, never more than they want. The servers come in the order of their turns. It
// adds to given and takes from left.
func bestEffort(policy config.SaturationPolicy, servers []core.Choice, given map[string][]core.Allocation, left stock) {
	switch policy {
	case config.PolicyPriorityExhaustive:
		for _, c := range servers {
			exhaust(c, given, left)
		}
	case config.PolicyPriorityRoundRobin:
		for len(servers) > 0 {
			p := servers[0].Priority
			end := slices.IndexFunc(servers, func(c core.Choice) bool { return c.Priority != p })
			if end < 0 {
				end = len(servers)
			}
			takeTurns(servers[:end], given, left)
			servers = servers[end:]
		}
	case config.PolicyRoundRobin:
		takeTurns(servers, given, left)
	case config.PolicyNone:
	}
}

// exhaust gives a server as many replicas as fit of the first candidate that fits at all.
func exhaust(c core.Choice, given map[string][]core.Allocation, left stock) {
	for _, a := range c.Candidates {
		if n := left.fits(a); n > 0 {
			a = a.Limit(n)
			left.take(a)
			given[c.Server.Name] = []core.Allocation{a}
			return
		}
	}
}

// takeTurns gives the servers one replica each in turn until none fits. A server stays with the
// candidate that fits at its first turn.
func takeTurns(servers []core.Choice, given map[string][]core.Allocation, left stock) {
	chosen := make([]int, len(servers)) // index of the candidate, -1 if none fits
	got := make([]int, len(servers))
	for i, c := range servers {
		chosen[i] = -1
		for j, a := range c.Candidates {
			if one := a.Limit(1); left.fits(one) > 0 {
				left.take(one)
				chosen[i], got[i] = j, 1
				break
			}
		}
	}
	for gave := true; gave; {
		gave = false
		for i, c := range servers {
			if chosen[i] < 0 || got[i] == c.Candidates[chosen[i]].Replicas {
				continue
			}
			if one := c.Candidates[chosen[i]].Limit(1); left.fits(one) > 0 {
				left.take(one)
				got[i]++
				gave = true
			}
		}
	}
	for i, c := range servers {
		if chosen[i] >= 0 {
			given[c.Server.Name] = []core.Allocation{c.Candidates[chosen[i]].Limit(got[i])}
		}
	}
}
