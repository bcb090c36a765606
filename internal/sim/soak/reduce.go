package soak

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Reduce returns the simplest case that it finds for which fails is true, as it is for c: with
// fewer parts, shorter, with rounder numbers. It calls fails at most asks times.
func Reduce(c Case, asks int, fails func(Case) bool) Case {
	for again := true; again; {
		again = false
		for _, smaller := range simpler(c) {
			if asks == 0 {
				return c
			}
			if smaller.Validate() != nil || smaller.String() == c.String() {
				continue
			}
			asks--
			if fails(smaller) {
				c, again = smaller, true
				break
			}
		}
	}
	return c
}

// lasting are the fields that stay: with other lengths, speeds or objectives the defect may be
// another, such as an objective that no replica can meet.
var lasting = []string{"Input", "Output", "TTFT", "ITL", "Speed", "Memory"}

// simpler returns cases that are simpler than c, the largest steps first.
func simpler(c Case) []Case {
	var out []Case
	for i := range c.Faults {
		s := clone(c)
		s.Faults = slices.Delete(s.Faults, i, i+1)
		out = append(out, s)
	}
	for i := range c.Variants {
		s := clone(c)
		s.Variants = slices.Delete(s.Variants, i, i+1)
		s.Faults = slices.DeleteFunc(s.Faults, func(f Fault) bool { return f.Variant == c.Variants[i].Name })
		if len(s.Variants) > 0 {
			out = append(out, s)
		}
	}
	for i := range c.Load {
		s := clone(c)
		s.Load = slices.Delete(s.Load, i, i+1)
		out = append(out, s)
		if c.Load[i].From != c.Load[i].To {
			s = clone(c)
			s.Load[i].From, s.Load[i].Period = s.Load[i].To, 0
			out = append(out, s)
		}
	}
	for _, part := range []time.Duration{2, 4} {
		s := clone(c)
		s.Length = (s.Length - s.Length/part).Truncate(10 * time.Minute)
		out = append(out, s)
	}
	var paths []string
	leaves(reflect.ValueOf(&c).Elem(), "", func(path string, _ reflect.Value) { paths = append(paths, path) })
	for i, path := range paths {
		if slices.Contains(lasting, path[strings.LastIndexByte(path, '.')+1:]) {
			continue
		}
		for _, value := range rounder(leaf(&c, i)) {
			s := clone(c)
			leaf(&s, i).Set(value)
			out = append(out, s)
		}
	}
	return out
}

// clone returns a case that shares nothing with c.
func clone(c Case) Case {
	c.Variants, c.Load, c.Faults = slices.Clone(c.Variants), slices.Clone(c.Load), slices.Clone(c.Faults)
	return c
}

// leaf returns the i-th plain field of c.
func leaf(c *Case, i int) reflect.Value {
	var found reflect.Value
	leaves(reflect.ValueOf(c).Elem(), "", func(_ string, v reflect.Value) {
		if i == 0 {
			found = v
		}
		i--
	})
	return found
}

// rounder returns simpler values for a field.
func rounder(v reflect.Value) []reflect.Value {
	if v.IsZero() {
		return nil
	}
	out := []reflect.Value{reflect.Zero(v.Type())}
	add := func(x any) {
		if y := reflect.ValueOf(x).Convert(v.Type()); !y.Equal(v) && !y.IsZero() {
			out = append(out, y)
		}
	}
	if x, ok := reflect.TypeAssert[time.Duration](v); ok {
		for _, unit := range []time.Duration{time.Hour, 10 * time.Minute, time.Minute} {
			if x%unit != 0 {
				add(x.Round(unit))
			}
		}
		return out
	}
	switch v.Kind() {
	case reflect.Int:
		if x := v.Int(); x > 1 {
			add(1)
			add(x / 2)
			add(x - 1)
		}
	case reflect.Float64:
		x := v.Float()
		if x != 1 {
			add(1.0)
		}
		if r := math.Pow(10, math.Floor(math.Log10(math.Abs(x)))); math.Round(x/r)*r != x {
			add(math.Round(x/r) * r)
		}
	default: // a name or a kind: only the zero value is simpler
	}
	return out
}
