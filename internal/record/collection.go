package record

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
)

// listForm is a list. An empty list is written, a nil list is left out.
type listForm struct{ elem form }

func (l listForm) append(to []byte, v reflect.Value) []byte {
	to = append(to, '[')
	for i := range v.Len() {
		if i > 0 {
			to = append(to, ',')
		}
		to = l.elem.append(to, v.Index(i))
	}
	return append(to, ']')
}

func (l listForm) read(in *input, tok json.Token, v reflect.Value) error {
	if tok == nil {
		return nil
	}
	if tok != json.Delim('[') {
		return in.fail("want a list, found %s", found(tok))
	}
	v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	for i := 0; in.decoder.More(); i++ {
		v.Grow(1)
		v.SetLen(i + 1)
		v.Index(i).SetZero()
		if err := in.below(step{index: i}, l.elem, v.Index(i)); err != nil {
			return err
		}
	}
	_, err := in.next() // the closing bracket
	return err
}

func (listForm) absent(reflect.Value) {}

func (listForm) omits(v reflect.Value, _ bool) bool { return v.IsNil() }

// pointerForm is the value of a pointer; a nil pointer is left out.
type pointerForm struct{ elem form }

func (p pointerForm) append(to []byte, v reflect.Value) []byte { return p.elem.append(to, v.Elem()) }

func (p pointerForm) read(in *input, tok json.Token, v reflect.Value) error {
	if tok == nil {
		return nil
	}
	v.Set(reflect.New(v.Type().Elem()))
	return p.elem.read(in, tok, v.Elem())
}

func (pointerForm) absent(reflect.Value) {}

func (pointerForm) omits(v reflect.Value, _ bool) bool { return v.IsNil() }

// key is the type of the keys of a map.
type key[K any] interface {
	comparable
	Compare(other K) int
}

// mapForm is a map as a list of objects, sorted by key. Each object is a value of the map with the
// key as one more member.
type mapForm[K key[K], V any] struct {
	name  string // of the key
	key   form
	value structForm
}

func newMap[K key[K], V any](b *builder, name string) mapForm[K, V] {
	return mapForm[K, V]{name: name, key: b.of(reflect.TypeFor[K]()), value: newStruct(b, reflect.TypeFor[V]())}
}

func (m mapForm[K, V]) append(to []byte, v reflect.Value) []byte {
	all := v.Convert(reflect.TypeFor[map[K]V]()).Interface().(map[K]V)
	to = append(to, '[')
	for i, k := range slices.SortedFunc(maps.Keys(all), K.Compare) {
		if i > 0 {
			to = append(to, ',')
		}
		value := all[k]
		to = append(append(append(to, '{', '"'), m.name...), '"', ':')
		to = m.key.append(to, reflect.ValueOf(&k).Elem())
		to = append(m.value.appendMembers(to, reflect.ValueOf(&value).Elem()), '}')
	}
	return append(to, ']')
}

func (m mapForm[K, V]) read(in *input, tok json.Token, v reflect.Value) error {
	if tok == nil {
		return nil
	}
	if tok != json.Delim('[') {
		return in.fail("want a list, found %s", found(tok))
	}
	all := map[K]V{}
	for i := 0; in.decoder.More(); i++ {
		in.path = append(in.path, step{index: i})
		if err := m.readEntry(in, all); err != nil {
			return err
		}
		in.path = in.path[:len(in.path)-1]
	}
	if _, err := in.next(); err != nil { // the closing bracket
		return err
	}
	v.Set(reflect.ValueOf(all).Convert(v.Type()))
	return nil
}

// readEntry reads an object into the map. An entry with the same key before is an error.
func (m mapForm[K, V]) readEntry(in *input, all map[K]V) error {
	tok, err := in.next()
	if err != nil {
		return err
	}
	var k K
	var value V
	extra := &extraMember{name: m.name, form: m.key, value: reflect.ValueOf(&k).Elem()}
	if err := m.value.readWith(in, tok, reflect.ValueOf(&value).Elem(), extra); err != nil {
		return err
	}
	if !extra.seen {
		return in.fail("%s is missing: whose entry it is", m.name)
	}
	if _, twice := all[k]; twice {
		return in.fail("there is an entry of this %s before: %v", m.name, k)
	}
	all[k] = value
	return nil
}

func (mapForm[K, V]) absent(reflect.Value) {}

func (mapForm[K, V]) omits(v reflect.Value, _ bool) bool { return v.IsNil() }
