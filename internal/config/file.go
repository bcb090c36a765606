package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/spelling"
)

// File is the content of --config-file: the text of each setting, by the name of its environment
// variable.
type File map[string]string

// Lookup returns the value of a setting, and whether it is set.
func (f File) Lookup(key string) (value string, ok bool) {
	value, ok = f[key]
	return value, ok
}

// largestFile bounds a file of settings to what a ConfigMap can hold, in bytes.
const largestFile = 1 << 20

// ParseFile reads a file of settings: a YAML mapping from names of environment variables to text,
// numbers, true or false. A name without a value is not set. It refuses names that are not in
// known, and suggests the nearest. Its error joins one for each fault, a *FieldError for a faulty
// value.
func ParseFile(content []byte, known []string) (File, error) {
	settings, faults, err := parseSettingsText(string(content))
	if err != nil {
		return nil, fmt.Errorf("reading the configuration file: %w", err)
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(faults)) {
		errs = append(errs, &FieldError{Key: shorten(name), Value: shorten(faults[name]), Want: "text, a number, true or false"})
	}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		if slices.Contains(known, name) {
			continue
		}
		errs = append(errs, fmt.Errorf("%q is not a known setting%s", shorten(name), spelling.Hint(name, known)))
		if len(errs) >= mostFindings {
			errs = append(errs, fmt.Errorf("more than %d faults", mostFindings))
			break
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return settings, nil
}

// parseSettingsText reads settings as YAML. faults describes the values that are not scalars, by
// name.
func parseSettingsText(content string) (settings File, faults map[string]string, err error) {
	settings, faults = File{}, map[string]string{}
	if len(content) > largestFile {
		return nil, nil, fmt.Errorf("it is larger than %d bytes", largestFile)
	}
	tree, err := decodeMapping(content)
	if err != nil && !errors.Is(err, errEmpty) {
		return nil, nil, err
	}
	for name, raw := range tree {
		switch raw := raw.(type) {
		case nil:
		case string, json.Number, bool:
			if value := strings.TrimSpace(show(raw)); value != "" {
				settings[name] = value
			}
		default:
			faults[name] = describe(raw)
		}
	}
	return settings, faults, nil
}

// renderValue writes a value of a setting as a user would set it.
func renderValue(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case time.Duration:
		return spelling.Duration(v)
	case float64:
		return plainNumber(v)
	case map[string]string:
		pairs := make([]string, 0, len(v))
		for _, name := range slices.Sorted(maps.Keys(v)) {
			pairs = append(pairs, name+"="+v[name])
		}
		return strings.Join(pairs, ",")
	default:
		return fmt.Sprint(v)
	}
}
