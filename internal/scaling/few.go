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
