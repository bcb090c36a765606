package executor

import (
	"fmt"
	"slices"
	"strings"
)

// Mode says what makes an Executor run. The zero value is Hybrid.
type Mode uint8

// The modes.
const (
	Hybrid   Mode = iota // at the interval and on every Trigger
	Polling              // only at the interval
	Reactive             // only on every Trigger, and once at the start
)

// Modes returns every mode, the default first.
func Modes() []Mode { return []Mode{Hybrid, Polling, Reactive} }

// String returns the name by which users choose the mode.
func (m Mode) String() string {
	switch m {
	case Polling:
		return "polling"
	case Reactive:
		return "reactive"
	default:
		return "hybrid"
	}
}

// ParseMode returns the mode of that name. The error lists the names.
func ParseMode(name string) (Mode, error) {
	modes := Modes()
	names := make([]string, len(modes))
	for i, m := range modes {
		names[i] = m.String()
	}
	if i := slices.Index(names, name); i >= 0 {
		return modes[i], nil
	}
	return Hybrid, fmt.Errorf("there is no executor %q: want one of %s", name, strings.Join(names, ", "))
}
