package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// checkShape compares a decoded document with its type, and reports every unknown key and every
// value of another kind. The decoder of encoding/json would ignore unknown keys and stop at the
// first value of another kind.
func checkShape(tree any, document reflect.Type) error {
	s := shape{}
	if top, ok := tree.(map[string]any); !ok || top["system"] == nil {
		s.fault("system", "nothing", "an object; it is the key at the top of the document")
	} else {
		s.check("", tree, document)
	}
	return errors.Join(s.faults...)
}

type shape struct{ faults []error }

func (s *shape) fault(key, value, want string) {
	s.faults = append(s.faults, &FieldError{Key: key, Value: value, Want: want})
}

// check compares one value. A null counts as absent and is always accepted.
func (s *shape) check(key string, value any, t reflect.Type) {
	if value == nil {
		return
	}
	switch t.Kind() {
	case reflect.Pointer:
		s.check(key, value, t.Elem())
	case reflect.Struct:
		if object, ok := value.(map[string]any); ok {
			s.checkObject(key, object, t)
			return
		}
		s.fault(key, show(value), "an object")
	case reflect.Slice:
		if list, ok := value.([]any); ok {
			for i, element := range list {
				s.check(fmt.Sprintf("%s[%d]", key, i), element, t.Elem())
			}
			return
		}
		s.fault(key, show(value), "a list")
	default:
		s.checkScalar(key, value, t.Kind())
	}
}

func (s *shape) checkObject(key string, object map[string]any, t reflect.Type) {
	fields := map[string]reflect.Type{}
	var names []string
	for field := range t.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		fields[name] = field.Type
		names = append(names, name)
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		path := join(key, name)
		if field, ok := fields[name]; ok {
			s.check(path, object[name], field)
			continue
		}
		s.fault(path, show(object[name]), "no such key here; the keys are "+strings.Join(names, ", "))
	}
}

func (s *shape) checkScalar(key string, value any, kind reflect.Kind) {
	switch kind {
	default: // the document has no other kinds
	case reflect.String:
		if _, ok := value.(string); !ok {
			s.fault(key, show(value), "text, in quotes")
		}
	case reflect.Bool:
		if _, ok := value.(bool); !ok {
			s.fault(key, show(value), "true or false")
		}
	case reflect.Int:
		if n, ok := value.(json.Number); !ok {
			s.fault(key, show(value), "an integer")
		} else if _, err := n.Int64(); err != nil {
			s.fault(key, n.String(), "an integer of at most 64 bits, without fraction or exponent")
		}
	case reflect.Float64:
		if n, ok := value.(json.Number); !ok {
			s.fault(key, show(value), "a number")
		} else if _, err := n.Float64(); err != nil {
			s.fault(key, n.String(), "a number that a 64-bit float can hold")
		}
	}
}

// show renders a value for an error, shortened.
func show(value any) string {
	const most = 60
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	if runes := []rune(string(text)); len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return string(text)
}
