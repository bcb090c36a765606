package record

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// states are the words for each Freshness, by its number.
var states = []string{
	scaling.Absent: "absent", scaling.NotApplicable: "notApplicable", scaling.Stale: "stale", scaling.Aging: "aging", scaling.Fresh: "fresh",
}

// freshnessForm is a Freshness in words.
type freshnessForm struct{ scalar }

func (freshnessForm) append(to []byte, v reflect.Value) []byte {
	return append(append(append(to, '"'), states[v.Uint()]...), '"')
}

func (freshnessForm) read(in *input, tok json.Token, v reflect.Value) error {
	text, _ := tok.(string)
	i := slices.Index(states, text)
	if i < 0 {
		return in.fail("want one of %s, found %s", strings.Join(states, ", "), found(tok))
	}
	v.SetUint(uint64(i))
	return nil
}

// readingForm is a Reading: the number alone while Fresh, the state alone where it has no number,
// else an object. An Absent reading is left out.
type readingForm struct{ object structForm }

func (f readingForm) append(to []byte, v reflect.Value) []byte {
	r := v.Addr().Interface().(*scaling.Reading)
	switch {
	case r.State == scaling.Fresh && !math.IsNaN(r.Value) && !math.IsInf(r.Value, 0):
		return appendFloat(to, r.Value)
	case r.State != scaling.Fresh && r.Value == 0 && !math.Signbit(r.Value):
		return append(append(append(to, '"'), states[r.State]...), '"')
	}
	return f.object.append(to, v)
}

func (f readingForm) read(in *input, tok json.Token, v reflect.Value) error {
	r := v.Addr().Interface().(*scaling.Reading)
	switch tok.(type) {
	case json.Number:
		r.State = scaling.Fresh
		return floatForm{}.read(in, tok, v.FieldByName("Value"))
	case string:
		return freshnessForm{}.read(in, tok, v.FieldByName("State"))
	case json.Delim:
		if tok == json.Delim('{') {
			return f.object.read(in, tok, v)
		}
	}
	return in.fail(`want a number, a state (one of %s) or an object with value and state, found %s`, strings.Join(states, ", "), found(tok))
}

func (readingForm) absent(reflect.Value) {}

// omits leaves out Absent readings.
func (readingForm) omits(v reflect.Value, _ bool) bool { return v.IsZero() }
