package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// errEmpty says that a text is empty or has only comments.
var errEmpty = errors.New("it is empty")

// decodeMapping reads a YAML or JSON text whose top is a mapping. Numbers are
// json.Number. A key that occurs twice is an error, as are aliases that multiply.
func decodeMapping(text string) (map[string]any, error) {
	if strings.TrimSpace(text) == "" {
		return nil, errEmpty
	}
	if documents(text) > 1 {
		return nil, errors.New("it holds more than one document")
	}
	if err := checkAliases(text); err != nil {
		return nil, yamlError(err)
	}
	asJSON, err := yaml.YAMLToJSONStrict([]byte(text))
	if err != nil && strings.Contains(err.Error(), "unsupported value") {
		// JSON has neither NaN nor infinity. As text they reach their field, whose finding names
		// it.
		asJSON, err = yaml.YAMLToJSONStrict(notFinite.ReplaceAll([]byte(text), []byte(`$1"$2"`)))
	}
	if err != nil {
		return nil, yamlError(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(asJSON))
	decoder.UseNumber()
	var tree any
	if err := decoder.Decode(&tree); err != nil {
		return nil, err
	}
	if tree == nil {
		return nil, errEmpty
	}
	mapping, ok := tree.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("it is %s", describe(tree))
	}
	return mapping, nil
}

// yamlError returns an error with the text of err on one line, cut to longestReason.
func yamlError(err error) error {
	return errors.New(cut(strings.Join(strings.Fields(err.Error()), " "), longestReason))
}

// documents counts the YAML documents of a text that are not empty: the parser reads the first and
// silently ignores the others.
func documents(text string) int {
	n := 0
	for _, part := range separator.Split(text, -1) {
		if strings.TrimSpace(comment.ReplaceAllString(part, "")) != "" {
			n++
		}
	}
	return n
}

// separator matches the line between documents: no other line begins like this. comment matches a
// comment that takes a whole line.
var (
	separator = regexp.MustCompile(`(?m)^---(?:[ \t\r]|$)`)
	comment   = regexp.MustCompile(`(?m)^\s*#.*$`)
)

// notFinite finds YAML's NaN and infinities as values.
var notFinite = regexp.MustCompile(`([:\-,\[]\s*)([+-]?\.(?:nan|NaN|NAN|inf|Inf|INF))\b`)

// describe names the kind of a value.
func describe(v any) string {
	switch v.(type) {
	case nil:
		return "empty"
	case []any:
		return "a list"
	case map[string]any:
		return "a mapping"
	case bool:
		return "true or false"
	case json.Number:
		return "a number"
	default:
		return "text"
	}
}

// show renders a value of the tree for a finding.
func show(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return v
	case plainText:
		return string(v)
	case json.Number:
		return v.String()
	default:
		text, err := json.Marshal(v)
		if err != nil {
			return describe(v)
		}
		return string(text)
	}
}

// values are the accepted fields of an entry, by name. They do not change once the entry is made.
type values map[string]any

// readFields reads the fields of a mapping at path within the value of the findings' key. It leaves
// out unknown fields and fields that are not accepted, and adds a finding for each; refused names
// the known ones among them. It ignores the fields named in also, which are read elsewhere.
func readFields[T any](fs []field[T], in map[string]any, path string, f *findings, also ...string) (out values, refused []string) {
	out = values{}
	byName := map[string]field[T]{}
	names := slices.Clone(also)
	for _, known := range fs {
		byName[known.Name] = known
		names = append(names, known.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(in)) {
		raw := in[name]
		known, ok := byName[name]
		switch {
		case !ok && slices.Contains(also, name):
		case !ok:
			f.unknown(path+name, name, names)
		case raw == nil: // "name:" without a value is not set
		default:
			v, ok := known.parse(raw)
			if !ok {
				f.add(Finding{Severity: Refused, Field: path + name, Value: known.shown(raw), Want: known.Accepts, Nearest: known.nearest(raw)})
				refused = append(refused, name)
				continue
			}
			out[name] = v
		}
	}
	return out, refused
}

// keepLast puts the last good values of refused fields into to. In each finding from index from on
// it says what is in force: that value, or otherwise where there is none.
func keepLast(to, last values, refused []string, f *findings, from int, otherwise string) {
	for _, name := range refused {
		if v, ok := last[name]; ok {
			to[name] = v
		}
	}
	f.hold(from, func(field string) string {
		if v, ok := last[field]; ok {
			return "the last good value " + renderValue(v)
		}
		return otherwise
	})
}

// applyFields puts values into to.
func applyFields[T any](fs []field[T], to *T, in values) {
	for _, known := range fs {
		if v, ok := in[known.Name]; ok {
			known.apply(to, v)
		}
	}
}

// name is a field that says which objects an entry is for, and the place of its value.
type name struct {
	field string
	to    *string
}

// readNames reads such fields at path within the value of the findings' key. A value that is not
// text makes the entry useless: readNames adds a finding and returns false.
func readNames(tree map[string]any, path string, f *findings, names ...name) bool {
	for _, n := range names {
		raw, ok := tree[n.field]
		if !ok || raw == nil {
			continue
		}
		if *n.to, ok = text(raw); !ok {
			f.add(Finding{Severity: Refused, Field: path + n.field, Value: show(raw), Want: "text", InForce: "nothing of this entry"})
			return false
		}
	}
	return true
}
