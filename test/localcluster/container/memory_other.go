//go:build !linux

package container

// mostMemory returns 0: unknown.
func mostMemory(int) int64 { return 0 }

// arguments returns nil: unknown.
func arguments(int) []string { return nil }
