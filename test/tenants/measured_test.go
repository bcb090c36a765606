//go:build !race

package tenants

// measured says that time and memory are judged.
const measured = true
