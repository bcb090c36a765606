package scaling

import (
	"fmt"
	"strings"
)

// mostNamed bounds what a detail says of the variants of one model: each variant
// repeats it, and a model may have thousands.
const mostNamed = 3

// Few joins what is said of several variants: the first three, and how many more
// there are.
func Few(texts []string) string {
	if more := len(texts) - mostNamed; more > 0 {
		return fmt.Sprintf("%s; and %d more", strings.Join(texts[:mostNamed], "; "), more)
	}
	return strings.Join(texts, "; ")
}

// FirstOf names the first most of all, and says how many more there are: "a, b and 2
// more".
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
