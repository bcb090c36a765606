package config

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
)

// Parse reads a document, in JSON or YAML, and validates it. Its error joins one *FieldError for
// each fault, so that a user corrects all of them at once. Text that is neither JSON nor YAML, or
// that gives a key twice, is a single error.
func Parse(text []byte) (System, error) {
	asJSON, err := toJSON(text)
	if err != nil {
		return System{}, cmp.Or(notFinite(text, err), fmt.Errorf("parsing the system: %w", err))
	}
	tree, err := decodeTree(asJSON)
	if err != nil {
		return System{}, fmt.Errorf("parsing the system: %w", err)
	}
	if err := checkShape(tree, reflect.TypeFor[Document]()); err != nil {
		return System{}, err
	}
	var document Document
	if err := json.Unmarshal(asJSON, &document); err != nil {
		return System{}, fmt.Errorf("parsing the system: %w", err)
	}
	if err := document.System.Validate(); err != nil {
		return System{}, err
	}
	return document.System, nil
}
