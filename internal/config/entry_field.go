package config

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/spelling"
)

// Key documents a configuration key.
type Key struct {
	// In is the kind of ConfigMap that holds it.
	In Kind
	// Name is the key of the ConfigMap (KindSettings), or the field within the
	// value of a key.
	Name    string
	Type    string // duration, number, whole number, boolean, text
	Default string // as a user would write it; "" for none
	Accepts string // the accepted values
	Meaning string
	// PerNamespace is whether a ConfigMap in the namespace of a model overrides the key there.
	PerNamespace bool
	// AtStart is whether a change takes effect only when the manager starts again.
	AtStart bool
}

// field is a key, its parser and the place of its value.
type field[T any] struct {
	Key
	parse  func(raw any) (any, bool)
	apply  func(to *T, v any)
	names  []string // the accepted values, where they are names
	secret bool
}

// nearest returns the accepted name that a misspelled one probably means, "" for none.
func (f field[T]) nearest(raw any) string {
	written, _ := text(raw)
	return spelling.Nearest(written, f.names)
}

// shown renders a value for a finding, without secrets.
func (f field[T]) shown(raw any) string {
	if f.secret {
		return "(hidden)"
	}
	if text, ok := raw.(plainText); ok {
		raw = plainText(withoutPassword(string(text)))
	}
	return show(raw)
}

// password matches the password of a URL and the text before it.
var password = regexp.MustCompile(`(://[^/?#:@]*):[^/?#]*@`)

// withoutPassword hides the password of a URL, even of a URL that cannot be parsed.
func withoutPassword(text string) string { return password.ReplaceAllString(text, "$1:xxxxx@") }

// plainText is the value of a key that is not YAML. All of it is text, so numbers and booleans are
// parsed from it.
type plainText string

// newField makes a field of a parser and the place of its value.
func newField[T, V any](k Key, parse func(raw any) (V, bool), at func(*T) *V) field[T] {
	return field[T]{
		Key: k,
		parse: func(raw any) (any, bool) {
			v, ok := parse(raw)
			return v, ok
		},
		apply: func(to *T, v any) {
			if v, ok := v.(V); ok {
				*at(to) = v
			}
		},
	}
}

// numberField is a number from least to most.
func numberField[T any](k Key, least, most float64, at func(*T) *float64) field[T] {
	k.Type = "number"
	if k.Accepts == "" {
		k.Accepts = fmt.Sprintf("a number from %s to %s", plainNumber(least), plainNumber(most))
	}
	return newField(k, func(raw any) (float64, bool) {
		x, ok := number(raw)
		return x, ok && x >= least && x <= most
	}, at)
}

// countField is a whole number from least to most.
func countField[T any](k Key, least, most int, at func(*T) *int) field[T] {
	k.Type = "whole number"
	if k.Accepts == "" {
		k.Accepts = fmt.Sprintf("a whole number from %d to %d", least, most)
	}
	return newField(k, func(raw any) (int, bool) {
		n, ok := whole(raw)
		return n, ok && n >= least && n <= most
	}, at)
}

// durationField is a duration from shortest to longest.
func durationField[T any](k Key, shortest, longest time.Duration, at func(*T) *time.Duration) field[T] {
	k.Type = "duration"
	if k.Accepts == "" {
		k.Accepts = fmt.Sprintf("a duration from %s to %s", spelling.Duration(shortest), spelling.Duration(longest))
	}
	return newField(k, func(raw any) (time.Duration, bool) {
		d, ok := duration(raw)
		return d, ok && d >= shortest && d <= longest
	}, at)
}

// truthField is true or false.
func truthField[T any](k Key, at func(*T) *bool) field[T] {
	k.Type, k.Accepts = "boolean", "true or false"
	return newField(k, truth, at)
}

// choiceField is one of some names.
func choiceField[T any](k Key, names []string, at func(*T) *string) field[T] {
	k.Type, k.Accepts = "text", oneOf(names)
	f := newField(k, func(raw any) (string, bool) {
		s, ok := text(raw)
		return s, ok && slices.Contains(names, s)
	}, at)
	f.names = names
	return f
}

// formerly also accepts the published name was and reads it as is.
func formerly[T any](f field[T], was, is string) field[T] {
	parse := f.parse
	f.parse = func(raw any) (any, bool) {
		if name, _ := text(raw); name == was {
			return is, true
		}
		return parse(raw)
	}
	f.Accepts = strings.Replace(f.Accepts, is, fmt.Sprintf("%s (or %s)", is, was), 1)
	return f
}

// textField is any text.
func textField[T any](k Key, at func(*T) *string) field[T] {
	k.Type = "text"
	if k.Accepts == "" {
		k.Accepts = "text"
	}
	return newField(k, text, at)
}

// hidden keeps a field's value out of findings.
func (f field[T]) hidden() field[T] {
	f.secret = true
	return f
}

func number(raw any) (float64, bool) {
	var s string
	switch raw := raw.(type) {
	case json.Number:
		s = raw.String()
	case plainText:
		s = string(raw)
	default:
		return 0, false
	}
	x, err := strconv.ParseFloat(s, 64)
	return x, err == nil && !math.IsNaN(x) && !math.IsInf(x, 0)
}

func whole(raw any) (int, bool) {
	x, ok := number(raw)
	// A float64 holds whole numbers up to 2^53 exactly; no count is so large.
	if !ok || x != math.Trunc(x) || math.Abs(x) > 1<<53 {
		return 0, false
	}
	return int(x), true
}

// duration reads a Go duration.
func duration(raw any) (time.Duration, bool) {
	s, ok := text(raw)
	if !ok {
		return 0, false
	}
	d, err := time.ParseDuration(s)
	return d, err == nil
}

func truth(raw any) (value, ok bool) {
	switch raw := raw.(type) {
	case bool:
		return raw, true
	case plainText:
		b, err := strconv.ParseBool(strings.ToLower(string(raw)))
		return b, err == nil
	}
	return false, false
}

func text(raw any) (string, bool) {
	switch raw := raw.(type) {
	case string:
		return strings.TrimSpace(raw), true
	case plainText:
		return string(raw), true
	}
	return "", false
}

// plainNumber renders a number without exponent or trailing zeros.
func plainNumber(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// excluding refuses one more value.
func (f field[T]) excluding(refused any) field[T] {
	parse := f.parse
	f.parse = func(raw any) (any, bool) {
		v, ok := parse(raw)
		return v, ok && v != refused
	}
	return f
}
