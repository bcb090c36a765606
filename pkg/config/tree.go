package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"

	"sigs.k8s.io/yaml"
)

// toJSON returns text, which is JSON or YAML, as JSON. JSON is returned unchanged: a YAML parser
// reads most of it, but not every escape.
func toJSON(text []byte) ([]byte, error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if json.Valid(text) {
		return text, nil
	}
	return yaml.YAMLToJSONStrict(text)
}

// infinite matches the numbers of YAML that are not finite, with the characters around them.
var infinite = regexp.MustCompile(`(?im)(^|[\s:\[{,])([-+]?\.(?:inf|nan))($|[\s,\]}])`)

// notFinite reports the fields of a YAML text whose numbers are not finite; err says only that
// there is one. It returns nil for other errors, and where it finds none.
func notFinite(text []byte, err error) error {
	if _, ok := errors.AsType[*json.UnsupportedValueError](err); !ok {
		return nil
	}
	// In quotes they parse, and checkShape then reports that they are not numbers.
	quoted := infinite.ReplaceAll(text, []byte(`$1"$2"$3`))
	quoted = infinite.ReplaceAll(quoted, []byte(`$1"$2"$3`)) // matches that share a character with the one before
	var shape error
	if asJSON, err := toJSON(quoted); err == nil {
		if tree, err := decodeTree(asJSON); err == nil {
			shape = checkShape(tree, reflect.TypeFor[Document]())
		}
	}
	return shape
}

// decodeTree decodes valid JSON into maps, slices and scalars, numbers as json.Number. Unlike
// encoding/json it rejects a key that is given twice.
func decodeTree(text []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	tree, err := decodeValue(decoder, "")
	if err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more text after the document")
	}
	return tree, nil
}

func decodeValue(decoder *json.Decoder, key string) (any, error) {
	token, err := decoder.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('{'):
		return decodeObject(decoder, key)
	case json.Delim('['):
		list := []any{}
		for decoder.More() {
			value, err := decodeValue(decoder, fmt.Sprintf("%s[%d]", key, len(list)))
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		_, err := decoder.Token()
		return list, err
	}
	return token, nil
}

func decodeObject(decoder *json.Decoder, key string) (any, error) {
	object := map[string]any{}
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		name, ok := token.(string)
		if !ok {
			return nil, fmt.Errorf("%s: a key that is not text: %v", key, token)
		}
		path := join(key, name)
		value, err := decodeValue(decoder, path)
		if err != nil {
			return nil, err
		}
		if first, twice := object[name]; twice {
			return nil, &FieldError{Key: path, Value: show(value), Want: "one value; it is also " + show(first)}
		}
		object[name] = value
	}
	_, err := decoder.Token()
	return object, err
}

// join returns the path of a key in an object.
func join(key, name string) string {
	if key == "" {
		return name
	}
	return key + "." + name
}
