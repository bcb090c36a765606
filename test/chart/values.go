package chart

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Value is one value of a chart, or a group of them.
type Value struct {
	Path     string         // from the root, with dots
	Text     string         // description; empty for a group
	Default  any            // nil for a group
	Schema   map[string]any // of accepted values, without description and default; nil for a group
	Examples []any          // other values that are accepted
	Children []*Value       // of a group, in the order of the file
}

// Name returns the last part of the path.
func (v *Value) Name() string { return v.Path[strings.LastIndex(v.Path, ".")+1:] }

// Leaves returns the values of a tree, without groups, in the order of the file.
func Leaves(values []*Value) []*Value {
	var leaves []*Value
	for _, v := range values {
		if v.Children == nil {
			leaves = append(leaves, v)
		}
		leaves = append(leaves, Leaves(v.Children)...)
	}
	return leaves
}

// ReadValues reads a values.yaml whose comments describe the values: lines from "# --" on have the
// description, "# @schema" and JSON the schema. A mapping without a description is a group. A value
// without a description is an error.
func ReadValues(data []byte) ([]*Value, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(data, &document); err != nil {
		return nil, fmt.Errorf("reading values: %w", err)
	}
	if len(document.Content) != 1 || document.Content[0].Kind != yaml.MappingNode {
		return nil, fmt.Errorf("reading values: not a mapping")
	}
	return readGroup("", document.Content[0])
}

func readGroup(prefix string, group *yaml.Node) ([]*Value, error) {
	var values []*Value
	for i := 0; i < len(group.Content); i += 2 {
		key, content := group.Content[i], group.Content[i+1]
		v := &Value{Path: prefix + key.Value}
		if err := v.read(key.HeadComment, content); err != nil {
			return nil, fmt.Errorf("reading value %s: %w", v.Path, err)
		}
		values = append(values, v)
	}
	return values, nil
}

func (v *Value) read(comment string, content *yaml.Node) (err error) {
	var schema string
	if v.Text, schema, err = readComment(comment); err != nil {
		return err
	}
	if v.Text == "" {
		if content.Kind != yaml.MappingNode {
			return fmt.Errorf("it has no description (# --)")
		}
		v.Children, err = readGroup(v.Path+".", content)
		return err
	}
	if err := content.Decode(&v.Default); err != nil {
		return err
	}
	v.Schema = map[string]any{}
	if schema != "" {
		if err := json.Unmarshal([]byte(schema), &v.Schema); err != nil {
			return fmt.Errorf("its # @schema: %w", err)
		}
	}
	v.Examples, _ = v.Schema["examples"].([]any)
	delete(v.Schema, "examples")
	if v.Schema["type"] == nil && v.Schema["$ref"] == nil {
		v.Schema["type"] = typeOf(v.Default)
	}
	return nil
}

// readComment splits a comment into the description of a value and its schema.
func readComment(comment string) (text, schema string, err error) {
	blocks := strings.Split(comment, "\n\n") // the last one is the value's own
	var words []string
	for line := range strings.SplitSeq(blocks[len(blocks)-1], "\n") {
		line = strings.TrimSpace(strings.TrimPrefix(line, "#"))
		switch {
		case strings.HasPrefix(line, "-- "):
			words = []string{strings.TrimPrefix(line, "-- ")}
		case strings.HasPrefix(line, "@schema "):
			if words == nil {
				return "", "", fmt.Errorf("a schema without a description")
			}
			schema = strings.TrimPrefix(line, "@schema ")
		case words != nil:
			words = append(words, line)
		}
	}
	return strings.Join(words, " "), schema, nil
}

// typeOf returns the JSON type of a default.
func typeOf(value any) string {
	switch value.(type) {
	case bool:
		return "boolean"
	case int:
		return "integer"
	case float64:
		return "number"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	default:
		return "string"
	}
}

// Alternatives returns accepted values other than the default: the examples, the rest of an
// enumeration, the other truth value, or the next numbers.
func (v *Value) Alternatives() []any {
	other := slices.Clone(v.Examples)
	if enum, ok := v.Schema["enum"].([]any); ok {
		for _, value := range enum {
			if value != v.Default {
				other = append(other, value)
			}
		}
	}
	switch value := v.Default.(type) {
	case bool:
		other = append(other, !value)
	case int:
		other = append(other, value+1)
	}
	return other
}
