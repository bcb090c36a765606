package policy

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/spelling"
)

// field is one parameter: how to parse it from text and to print it, and what it accepts.
type field struct {
	name, doc string
	tune      []string // the points of the grid, nil if it is not tuned
	parse     func(string) error
	text      func() string
	check     func() error
}

// number returns the field of a real number from lo to hi.
func number(name, doc string, p *float64, lo, hi float64, tune ...string) field {
	want := "a number from " + plain(lo)
	if hi < math.MaxFloat64 {
		want += " to " + plain(hi)
	} else {
		want += " upwards"
	}
	return field{
		name: name, doc: doc, tune: tune,
		parse: func(s string) error {
			v, err := strconv.ParseFloat(s, 64)
			if err != nil {
				return fmt.Errorf("%s: found %q, want %s", name, s, want)
			}
			*p = v
			return nil
		},
		text: func() string { return plain(*p) },
		check: func() error {
			if !(*p >= lo && *p <= hi) || math.IsInf(*p, 0) {
				return fmt.Errorf("%s: found %v, want %s", name, *p, want)
			}
			return nil
		},
	}
}

// count returns the field of a whole number of at least lo.
func count[T ~int](name, doc string, p *T, lo T) field {
	return field{
		name: name, doc: doc,
		parse: func(s string) error {
			v, err := strconv.Atoi(s)
			if err != nil {
				return fmt.Errorf("%s: found %q, want a whole number from %d upwards", name, s, lo)
			}
			*p = T(v)
			return nil
		},
		text: func() string { return strconv.Itoa(int(*p)) },
		check: func() error {
			if *p < lo {
				return fmt.Errorf("%s: found %d, want a whole number from %d upwards", name, *p, lo)
			}
			return nil
		},
	}
}

// span returns the field of a duration of at least lo.
func span(name, doc string, p *time.Duration, lo time.Duration, tune ...string) field {
	return field{
		name: name, doc: doc, tune: tune,
		parse: func(s string) error {
			v, err := time.ParseDuration(s)
			if err != nil {
				return fmt.Errorf("%s: found %q, want a duration such as 30s, from %s upwards", name, s, lo)
			}
			*p = v
			return nil
		},
		text: func() string { return spelling.Duration(*p) },
		check: func() error {
			if *p < lo {
				return fmt.Errorf("%s: found %s, want a duration from %s upwards", name, *p, lo)
			}
			return nil
		},
	}
}

// choice returns the field of one of some words.
func choice(name, doc string, p *string, words []string, tune ...string) field {
	return field{
		name: name, doc: doc, tune: tune,
		parse: func(s string) error { *p = s; return nil },
		text:  func() string { return *p },
		check: func() error {
			if !slices.Contains(words, *p) {
				return fmt.Errorf("%s: found %q, want one of %s", name, *p, strings.Join(words, ", "))
			}
			return nil
		},
	}
}

// check returns the error of the first field that is out of its range.
func check(policy string, fields []field) error {
	for _, f := range fields {
		if err := f.check(); err != nil {
			return fmt.Errorf("policy %s: parameter %w", policy, err)
		}
	}
	return nil
}

func plain(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// milli is the smallest target that Kubernetes can express.
const milli = 0.001

// unlimited is the end of a range without an upper end.
const unlimited = math.MaxFloat64
