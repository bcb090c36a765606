//go:build !linux

package container

// mostMemory is not known.
func mostMemory(int) int64 { return 0 }

// arguments are not known.
func arguments(int) []string { return nil }
