package chart

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
)

// Schema returns the JSON schema of a chart's values: the schemas of values, the definitions that
// they refer to, and the values of earlier charts. It refuses all others. It is of draft 7, which
// Helm 3 supports too.
func Schema(values []*Value, definitions map[string]any, published *Published) ([]byte, error) {
	properties := group(values)
	if err := published.allow(properties, values); err != nil {
		return nil, err
	}
	properties["global"] = map[string]any{"type": "object", "description": "Helm's own: values of a chart and its subcharts."}
	document := map[string]any{
		"$schema":              "http://json-schema.org/draft-07/schema#",
		"title":                "Values of the chart workload-variant-autoscaler",
		"type":                 "object",
		"additionalProperties": false,
		"properties":           properties,
		"definitions":          definitions,
	}
	text, err := json.MarshalIndent(document, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("writing the schema: %w", err)
	}
	return append(text, '\n'), nil
}

func group(values []*Value) map[string]any {
	properties := map[string]any{}
	for _, v := range values {
		if v.Children != nil {
			properties[v.Name()] = object(group(v.Children))
			continue
		}
		property := maps.Clone(v.Schema)
		property["description"] = v.Text
		property["default"] = v.Default
		properties[v.Name()] = property
	}
	return properties
}

func object(properties map[string]any) map[string]any {
	return map[string]any{"type": "object", "additionalProperties": false, "properties": properties}
}

// Published says what became of the values of earlier charts: files/published.yaml in the chart.
type Published struct {
	Moved  []Move `json:"moved"`  // by their paths
	Models []Move `json:"models"` // that describe one model
	Other  []Move `json:"other"`  // To is in words
	Gone   []Gone `json:"gone"`
	// Defaults are values of the chart that was published last.
	Defaults map[string]any `json:"defaults"`
}

// Move is a value of an earlier chart and its successor.
type Move struct {
	From    string `json:"from"`
	To      string `json:"to"`
	Default any    `json:"default"` // of To, in values.yaml
	// Published is the default of From in earlier charts, nil where they had none.
	Published any `json:"published"`
}

// Gone is a value of an earlier chart that has no successor.
type Gone struct {
	From    string `json:"from"`
	Instead string `json:"instead"`
}

// allow adds the values of earlier charts to the properties of a schema: as narrow as their
// successor where that is one value, else anything, which the chart converts or refuses with a
// reason.
func (p *Published) allow(properties map[string]any, values []*Value) error {
	now := map[string]*Value{}
	for _, v := range Leaves(values) {
		now[v.Path] = v
	}
	for _, move := range p.Moved {
		schema := map[string]any{}
		if v, ok := now[move.To]; ok {
			schema = loosened(v)
		}
		schema["description"] = "Earlier charts: now " + move.To + "."
		if err := place(properties, move.From, schema); err != nil {
			return err
		}
	}
	for _, moves := range [][]Move{p.Models, p.Other} {
		for _, move := range moves {
			if err := place(properties, move.From, map[string]any{"description": "Earlier charts: now " + move.To + "."}); err != nil {
				return err
			}
		}
	}
	for _, gone := range p.Gone {
		if err := place(properties, gone.From, map[string]any{"description": "Earlier charts: " + gone.Instead + "."}); err != nil {
			return err
		}
	}
	return nil
}

// loosened returns the schema of a value in an earlier chart. These had no schema: text without
// quotes may be a number or a truth value, and true may be in quotes.
func loosened(v *Value) map[string]any {
	schema := maps.Clone(v.Schema)
	switch {
	case schema["type"] == "boolean":
		return map[string]any{"enum": []any{true, false, "true", "false"}}
	case schema["type"] == "string" && schema["enum"] == nil:
		schema["type"] = []any{"string", "number", "boolean"}
	}
	return schema
}

// place puts a schema at a path of properties.
func place(properties map[string]any, path string, schema map[string]any) error {
	keys := strings.Split(path, ".")
	for _, key := range keys[:len(keys)-1] {
		if properties[key] == nil {
			properties[key] = object(map[string]any{})
		}
		inner, ok := properties[key].(map[string]any)
		if !ok {
			return fmt.Errorf("placing %s: %s is no object", path, key)
		}
		if properties, ok = inner["properties"].(map[string]any); !ok {
			return fmt.Errorf("placing %s: %s is a value", path, key)
		}
	}
	last := keys[len(keys)-1]
	if _, taken := properties[last]; taken {
		return fmt.Errorf("placing %s: a value has this name", path)
	}
	properties[last] = schema
	return nil
}
