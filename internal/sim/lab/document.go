package lab

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// FileError says which field of a file is wrong and what would be right.
type FileError struct {
	File  string
	Line  int    // 1-based, 0 where it is unknown
	Field string // as a path: models[0].slo.ttft; "" for the whole file
	Found string
	Want  string
}

// Error names the file, the line, the field and what is accepted.
func (e *FileError) Error() string {
	where := e.File
	if e.Line > 0 {
		where = fmt.Sprintf("%s, line %d", where, e.Line)
	}
	if e.Field != "" {
		where += ": " + e.Field
	}
	return fmt.Sprintf("%s: found %s, want %s", where, e.Found, e.Want)
}

// value is a value in a YAML or JSON file, with its path.
type value struct {
	file, field string
	node        *yaml.Node
}

// parse reads a file as one value.
func parse(file string, content []byte) (value, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(content, &document); err != nil {
		return value{}, fmt.Errorf("%s: %w", file, err)
	}
	if len(document.Content) == 0 {
		return value{}, &FileError{File: file, Found: "nothing", Want: "YAML or JSON"}
	}
	return value{file: file, node: document.Content[0]}, nil
}

func (v value) wrong(want string) error {
	const longest = 60
	found := map[yaml.Kind]string{yaml.MappingNode: "a mapping", yaml.SequenceNode: "a list", yaml.AliasNode: "an alias"}[v.node.Kind]
	if v.node.Kind == yaml.ScalarNode {
		found = strconv.Quote(v.node.Value)
		if len(found) > longest {
			found = found[:longest] + `…"`
		}
	}
	return &FileError{File: v.file, Line: v.node.Line, Field: v.field, Found: found, Want: want}
}

// reader reads one field.
type reader func(value) error

// mapping reads a mapping whose fields are among known, each at most once.
func (v value) mapping(known map[string]reader) error {
	if v.node.Kind != yaml.MappingNode {
		return v.wrong("a mapping")
	}
	var errs []error
	seen := map[string]bool{}
	for i := 0; i+1 < len(v.node.Content); i += 2 {
		key := v.node.Content[i]
		one := value{file: v.file, field: strings.TrimPrefix(v.field+"."+key.Value, "."), node: v.node.Content[i+1]}
		read, ok := known[key.Value]
		switch {
		case !ok:
			at := value{file: v.file, field: v.field, node: key}
			errs = append(errs, at.wrong("one of "+strings.Join(slices.Sorted(maps.Keys(known)), ", ")))
		case seen[key.Value]:
			errs = append(errs, one.wrong("each field once"))
		default:
			errs = append(errs, read(one))
		}
		seen[key.Value] = true
	}
	return errors.Join(errs...)
}

// list reads every element of a list, one or more.
func (v value) list(read reader) error {
	if v.node.Kind != yaml.SequenceNode || len(v.node.Content) == 0 {
		return v.wrong("a list of one or more")
	}
	var errs []error
	for i, node := range v.node.Content {
		errs = append(errs, read(value{file: v.file, field: fmt.Sprintf("%s[%d]", v.field, i), node: node}))
	}
	return errors.Join(errs...)
}

// text reads a text that is not empty.
func text(p *string) reader {
	return func(v value) error {
		if v.node.Kind != yaml.ScalarNode || strings.TrimSpace(v.node.Value) == "" {
			return v.wrong("a text")
		}
		*p = v.node.Value
		return nil
	}
}

// number reads a finite number from lo to hi.
func number(p *float64, lo, hi float64) reader {
	want := fmt.Sprintf("a number from %g to %g", lo, hi)
	if hi == math.MaxFloat64 {
		want = fmt.Sprintf("a number from %g upwards", lo)
	}
	return func(v value) error {
		n, err := strconv.ParseFloat(v.node.Value, 64)
		if v.node.Kind != yaml.ScalarNode || err != nil || !(n >= lo && n <= hi) {
			return v.wrong(want)
		}
		*p = n
		return nil
	}
}

// whole reads an integer from lo to hi.
func whole[T ~int](p *T, lo, hi int) reader {
	return func(v value) error {
		n, err := strconv.Atoi(v.node.Value)
		if v.node.Kind != yaml.ScalarNode || err != nil || n < lo || n > hi {
			return v.wrong(fmt.Sprintf("a whole number from %d to %d", lo, hi))
		}
		*p = T(n)
		return nil
	}
}

// truth reads true or false.
func truth(p *bool) reader {
	return func(v value) error {
		if v.node.Kind != yaml.ScalarNode || v.node.Value != "true" && v.node.Value != "false" {
			return v.wrong("true or false")
		}
		*p = v.node.Value == "true"
		return nil
	}
}

// longest is the largest duration that a file may ask for.
const longest = 10 * 365 * 24 * hour

// span reads a duration of at least lo.
func span(p *time.Duration, lo time.Duration) reader {
	return func(v value) error {
		d, err := time.ParseDuration(v.node.Value)
		if v.node.Kind != yaml.ScalarNode || err != nil || d < lo || d > longest {
			return v.wrong(fmt.Sprintf("a duration such as 90s, from %s upwards", lo))
		}
		*p = d
		return nil
	}
}

// milliseconds reads a duration of 0 or more as a number of ms.
func milliseconds(p *float64) reader {
	return func(v value) error {
		var d time.Duration
		if err := span(&d, 0)(v); err != nil {
			return err
		}
		*p = float64(d) / float64(time.Millisecond)
		return nil
	}
}
