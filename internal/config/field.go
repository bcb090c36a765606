package config

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/spelling"
)

// FieldError is a value that is not accepted.
type FieldError struct {
	Key   string // flag or environment variable, as users write it
	Value string
	Want  string // what is accepted
}

// Error names the key, the value and what is accepted.
func (e *FieldError) Error() string {
	return fmt.Sprintf("%s: %q is not accepted: want %s", e.Key, e.Value, e.Want)
}

// within returns a FieldError unless a duration is in its range.
func within(key string, d, shortest, longest time.Duration) error {
	if d >= shortest && d <= longest {
		return nil
	}
	return &FieldError{Key: key, Value: d.String(), Want: fmt.Sprintf("a duration from %s to %s", spelling.Duration(shortest), spelling.Duration(longest))}
}

// between returns a FieldError unless a number is in its range.
func between(key string, n, least, most int) error {
	if n >= least && n <= most {
		return nil
	}
	return &FieldError{Key: key, Value: strconv.Itoa(n), Want: fmt.Sprintf("a whole number from %d to %d", least, most)}
}

// oneOf says that one of the names is accepted.
func oneOf(names []string) string {
	shown := make([]string, len(names))
	for i, name := range names {
		if shown[i] = name; name == "" {
			shown[i] = `""`
		}
	}
	return "one of " + strings.Join(shown, ", ")
}
