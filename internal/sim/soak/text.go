package soak

import (
	"bufio"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// String returns c as lines of a field and its value, without zero values: Variants[0].Cost = 10.
// [Parse] reads it.
func (c Case) String() string {
	var out strings.Builder
	leaves(reflect.ValueOf(&c).Elem(), "", func(path string, v reflect.Value) {
		if !v.IsZero() {
			fmt.Fprintf(&out, "%s = %v\n", path, v.Interface())
		}
	})
	return out.String()
}

// leaves calls f with every field that holds a plain value, in the order of their declaration.
func leaves(v reflect.Value, path string, f func(path string, v reflect.Value)) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			leaves(v.Field(i), strings.TrimPrefix(path+"."+v.Type().Field(i).Name, "."), f)
		}
	case reflect.Slice:
		for i := range v.Len() {
			leaves(v.Index(i), fmt.Sprintf("%s[%d]", path, i), f)
		}
	default:
		f(path, v)
	}
}

// Parse reads the output of String. It ignores empty lines and lines that begin with #.
func Parse(text string) (Case, error) {
	var c Case
	lines := bufio.NewScanner(strings.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		path, value, ok := strings.Cut(line, " = ")
		if !ok {
			return c, fmt.Errorf("soak: line %d: found %q, want field = value", n, line)
		}
		if err := set(reflect.ValueOf(&c).Elem(), path, value); err != nil {
			return c, fmt.Errorf("soak: line %d: %s: %w", n, path, err)
		}
	}
	return c, c.Validate()
}

// set sets the field at a path.
func set(v reflect.Value, path, value string) error {
	for part := range strings.SplitSeq(path, ".") {
		name, index, listed := strings.Cut(strings.TrimSuffix(part, "]"), "[")
		if v.Kind() != reflect.Struct {
			return fmt.Errorf("no field %q", name)
		}
		if v = v.FieldByName(name); !v.IsValid() {
			return fmt.Errorf("no field %q", name)
		}
		if !listed {
			continue
		}
		i, err := strconv.Atoi(index)
		if err != nil || v.Kind() != reflect.Slice || i < 0 || i > v.Len() {
			return fmt.Errorf("index %q of %s, want the next one, %d, or one before", index, name, v.Len())
		}
		if i == v.Len() {
			v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
		}
		v = v.Index(i)
	}
	return setLeaf(v, value)
}

func setLeaf(v reflect.Value, value string) error {
	var err error
	if x, ok := reflect.TypeAssert[*time.Duration](v.Addr()); ok {
		*x, err = time.ParseDuration(value)
		return err
	}
	switch v.Kind() {
	case reflect.Int:
		var n int
		n, err = strconv.Atoi(value)
		v.SetInt(int64(n))
	case reflect.Float64:
		var x float64
		x, err = strconv.ParseFloat(value, 64)
		v.SetFloat(x)
	case reflect.Bool:
		var on bool
		on, err = strconv.ParseBool(value)
		v.SetBool(on)
	case reflect.String:
		v.SetString(value)
	default:
		return fmt.Errorf("a %s holds no value", v.Kind())
	}
	return err
}
