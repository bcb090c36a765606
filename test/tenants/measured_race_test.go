//go:build race

package tenants

// measured is false where the detector makes all take ten times as long, and more memory.
const measured = false
