//go:build soak

package soak

import "testing"

// TestCounterfactualsOfManyDecisions takes about eight minutes on one core.
func TestCounterfactualsOfManyDecisions(t *testing.T) { announced(t, 10_000) }
