package record

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/queueing"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/saturation"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/settings"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/spelling"
)

// form writes and reads the values of one type.
type form interface {
	// append appends v, which is addressable.
	append(to []byte, v reflect.Value) []byte
	// read sets v, which is zero, to the value that begins with tok.
	read(in *input, tok json.Token, v reflect.Value) error
	// absent sets v, which is zero, to the value that it has where it is left out.
	absent(v reflect.Value)
	// omits reports whether v is left out of an object; tagged says that the tag of its field
	// allows to leave a zero value out.
	omits(v reflect.Value, tagged bool) bool
}

// builder makes the form of each type once.
type builder struct {
	forms   map[reflect.Type]form
	presets map[reflect.Type]reflect.Value // values of which fields left out are taken; zero for other types
}

func newBuilder() *builder {
	b := &builder{forms: map[reflect.Type]form{
		reflect.TypeFor[time.Time]():         timeForm{},
		reflect.TypeFor[time.Duration]():     durationForm{},
		reflect.TypeFor[scaling.Freshness](): freshnessForm{},
		reflect.TypeFor[scaling.Stuckness](): wordForm{string(scaling.Frozen), string(scaling.Sick)},
		reflect.TypeFor[scaling.CostSource](): wordForm{
			string(scaling.CostVariant), string(scaling.CostUnitCost),
		},
	}, presets: map[reflect.Type]reflect.Value{
		reflect.TypeFor[scaling.Bounds]():             reflect.ValueOf(scaling.Unbounded()),
		reflect.TypeFor[saturation.Thresholds]():      reflect.ValueOf(saturation.Default()),
		reflect.TypeFor[saturation.TokenThresholds](): reflect.ValueOf(saturation.DefaultTokens()),
		reflect.TypeFor[queueing.Options]():           reflect.ValueOf(queueing.Default()),
	}}
	b.forms[reflect.TypeFor[scaling.Reading]()] = readingForm{newStruct(b, reflect.TypeFor[scaling.Reading]())}
	b.forms[reflect.TypeFor[memory.History]()] = newMap[scaling.VariantKey, memory.Past](b, "variant")
	b.forms[reflect.TypeFor[map[scaling.ModelKey]settings.Model]()] = newMap[scaling.ModelKey, settings.Model](b, "model")
	return b
}

// of returns the form of a type. It panics for a type that no record can carry, which is a mistake
// of the program.
func (b *builder) of(t reflect.Type) form {
	if f, ok := b.forms[t]; ok {
		return f
	}
	var f form
	switch t.Kind() {
	case reflect.Bool:
		f = boolForm{}
	case reflect.Int:
		f = intForm{}
	case reflect.Float64:
		f = floatForm{}
	case reflect.String:
		f = textForm{}
	case reflect.Slice:
		f = listForm{b.of(t.Elem())}
	case reflect.Pointer:
		f = pointerForm{b.of(t.Elem())}
	case reflect.Struct:
		f = newStruct(b, t)
	default:
		panic("record: no form for " + t.String())
	}
	b.forms[t] = f
	return f
}

// structForm is an object with a member for each field.
type structForm struct {
	members []member
	preset  reflect.Value // of the fields left out; invalid for zero
}

type member struct {
	name   string
	index  []int // of the field, as reflect.Value.FieldByIndex reads it
	form   form
	tagged bool               // a zero value may be left out
	unset  func(v int64) bool // whether an integer means none and is left out; nil for never
}

func newStruct(b *builder, t reflect.Type) structForm {
	s := structForm{preset: b.presets[t]}
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct && !b.presets[f.Type].IsValid() {
			for _, m := range newStruct(b, f.Type).members { // its fields count as fields of t, as in encoding/json
				m.index = append(slices.Clone(f.Index), m.index...)
				s.members = append(s.members, m)
			}
			continue
		}
		if !f.IsExported() || name == "" || name == "-" || f.Anonymous {
			panic(fmt.Sprintf("record: field %s of %s has no JSON name", f.Name, t))
		}
		m := member{name: name, index: f.Index, form: b.of(f.Type), tagged: strings.Contains(options, "omit")}
		if t == reflect.TypeFor[scaling.Bounds]() && name == "max" {
			m.unset = func(v int64) bool { return v == math.MaxInt }
		}
		s.members = append(s.members, m)
	}
	return s
}

func (s structForm) append(to []byte, v reflect.Value) []byte {
	return append(s.appendMembers(append(to, '{'), v), '}')
}

func (s structForm) appendMembers(to []byte, v reflect.Value) []byte {
	for i := range s.members {
		m := &s.members[i]
		f := v.FieldByIndex(m.index)
		if m.form.omits(f, m.tagged) || m.unset != nil && m.unset(f.Int()) {
			continue
		}
		if to[len(to)-1] != '{' {
			to = append(to, ',')
		}
		to = append(append(append(to, '"'), m.name...), '"', ':')
		to = m.form.append(to, f)
	}
	return to
}

func (s structForm) read(in *input, tok json.Token, v reflect.Value) error {
	return s.readWith(in, tok, v, nil)
}

// readWith reads an object that may have one more member, extra.
func (s structForm) readWith(in *input, tok json.Token, v reflect.Value, extra *extraMember) error {
	if tok != json.Delim('{') {
		return in.fail("want an object, found %s", found(tok))
	}
	if s.preset.IsValid() {
		v.Set(s.preset)
	}
	seen := make([]bool, len(s.members))
	for in.decoder.More() {
		key, err := in.next()
		if err != nil {
			return err
		}
		name := key.(string) // the decoder returns nothing else here
		f, at, err := s.member(in, name, v, seen, extra)
		if err != nil {
			return err
		}
		if err := in.below(step{field: name}, f, at); err != nil {
			return err
		}
	}
	if _, err := in.next(); err != nil { // the closing brace
		return err
	}
	if s.preset.IsValid() {
		return nil
	}
	for i, there := range seen {
		if !there {
			s.members[i].form.absent(v.FieldByIndex(s.members[i].index))
		}
	}
	return nil
}

// member returns the form and the place of the member that is read next, and notes that it was
// seen.
func (s structForm) member(in *input, name string, v reflect.Value, seen []bool, extra *extraMember) (form, reflect.Value, error) {
	if extra != nil && extra.name == name && !extra.seen {
		extra.seen = true
		return extra.form, extra.value, nil
	}
	i := s.index(name)
	switch {
	case i >= 0 && seen[i], i < 0 && extra != nil && extra.name == name:
		return nil, v, in.fail("field %q is there twice", name)
	case i < 0:
		return nil, v, in.fail("there is no field %.80q%s", name, s.hint(name, extra))
	}
	seen[i] = true
	at := v.FieldByIndex(s.members[i].index)
	at.SetZero() // remove the preset
	return s.members[i].form, at, nil
}

// extraMember is a member without a field of the struct.
type extraMember struct {
	name  string
	form  form
	value reflect.Value
	seen  bool
}

func (s structForm) index(name string) int {
	for i := range s.members {
		if s.members[i].name == name {
			return i
		}
	}
	return -1
}

// hint names the field that may have been meant by one that does not exist.
func (s structForm) hint(name string, extra *extraMember) string {
	var known []string
	if extra != nil {
		known = append(known, extra.name)
	}
	for _, m := range s.members {
		known = append(known, m.name)
	}
	if near := spelling.Nearest(name, known); near != "" {
		return fmt.Sprintf("; the nearest is %q", near)
	}
	return "; known are " + strings.Join(known, ", ")
}

func (s structForm) absent(v reflect.Value) {
	if s.preset.IsValid() {
		v.Set(s.preset)
		return
	}
	for i := range s.members {
		s.members[i].form.absent(v.FieldByIndex(s.members[i].index))
	}
}

func (structForm) omits(v reflect.Value, tagged bool) bool { return tagged && v.IsZero() }
