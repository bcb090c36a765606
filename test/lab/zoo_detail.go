package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// details prints the results of all policies in one scenario, and writes its file.
func (v *zooRun) details(b *strings.Builder, c zooStock, a zooCase) error {
	text, err := c.file(a)
	if err != nil {
		return err
	}
	name := filepath.Join(v.out, a.Name+".yaml")
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		return fmt.Errorf("writing the scenario: %w", err)
	}
	s := v.score(a)
	fmt.Fprintf(b, "\n## %d\n\n%s %g %% are asked. `wva simulate --scenario %s --seed %d --policy all --tune` runs it, too.\n\n", a.number, a.Description, 100*a.Attainment, name, zooSeed)
	for _, m := range a.Models {
		fmt.Fprintf(b, "- %s: TTFT %s, ITL %s, %s\n", m.ID, m.TTFT, m.ITL, m.Routing)
		for _, one := range m.Variants {
			fmt.Fprintf(b, "  - %s, %d to %d at %g, ready after %s: %s\n", one.Name, one.Min, one.Max, one.Cost, one.StartUp, one.Profile.Name)
		}
	}
	b.WriteString("\n| Policy | Attained % | Cost |\n|---|--:|--:|\n")
	rows := slices.Concat(ownPoints(s), marked(s.untuned, ", untuned"), marked(s.tuned, ", tuned"))
	slices.SortStableFunc(rows, func(x, y named) int { return cmp.Compare(x.Cost, y.Cost) })
	for _, r := range rows {
		fmt.Fprintf(b, "| %s | %.1f | %.2f |\n", r.policy, 100*r.Attainment, r.Cost)
	}
	return nil
}

// ownPoints returns the results of our policies.
func ownPoints(s score) []named {
	var out []named
	for name, r := range s.own {
		out = append(out, named{r.point(), "**`" + name + "`**"})
	}
	slices.SortFunc(out, func(a, b named) int { return cmp.Compare(a.policy, b.policy) })
	return out
}

func marked(all []named, as string) []named {
	out := slices.Clone(all)
	for i := range out {
		out[i].policy = "`" + out[i].policy + "`" + as
	}
	return out
}
