package scaling

import (
	"fmt"
	"strings"
)

// mostNamed limits the variants that a detail describes: each variant of a model repeats it, and a
// model may have thousands.
const mostNamed = 3

// Few joins the texts on several variants: the first three, and the number of the others.
func Few(texts []string) string {
	if more := len(texts) - mostNamed; more > 0 {
		return fmt.Sprintf("%s; and %d more", strings.Join(texts[:mostNamed], "; "), more)
	}
	return strings.Join(texts, "; ")
}

// FirstOf names the first most elements of all, and the number of the others: "a, b and 2 more".
func FirstOf[T any](all []T, most int, name func(T) string) string {
	names := make([]string, 0, most)
	for _, one := range all[:min(most, len(all))] {
		names = append(names, name(one))
	}
	list := strings.Join(names, ", ")
	if more := len(all) - most; more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return list
}
