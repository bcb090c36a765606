package main

import (
	"fmt"
	"strings"
)

// report is what is printed and written.
func (v *visitor) report(animals []animal) *strings.Builder {
	var b strings.Builder
	fmt.Fprintf(&b, "\n| Scenario | Target %% |")
	for _, c := range v.choices {
		fmt.Fprintf(&b, " %s |", c)
	}
	b.WriteString("\n")
	for _, a := range animals {
		fmt.Fprintf(&b, "| %d %s | %g |", a.number, a.Description, 100*a.Attainment)
		for _, c := range v.choices {
			one, ok := v.find(v.key(a, c))
			if !ok || one.Result.Error != "" {
				b.WriteString(" – |")
				continue
			}
			fmt.Fprintf(&b, " %.1f (%.1f) %.2f %.1fs|", 100*one.Result.Attainment, 100*one.Result.WorstHour, one.Result.Cost, one.Result.Seconds)
		}
		b.WriteString("\n")
	}
	return &b
}
