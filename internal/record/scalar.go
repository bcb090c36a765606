package record

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// scalar has the methods that forms without parts share.
type scalar struct{}

func (scalar) absent(reflect.Value) {}

func (scalar) omits(v reflect.Value, tagged bool) bool { return tagged && v.IsZero() }

type boolForm struct{ scalar }

func (boolForm) append(to []byte, v reflect.Value) []byte { return strconv.AppendBool(to, v.Bool()) }

func (boolForm) read(in *input, tok json.Token, v reflect.Value) error {
	b, ok := tok.(bool)
	if !ok {
		return in.fail("want true or false, found %s", found(tok))
	}
	v.SetBool(b)
	return nil
}

type intForm struct{ scalar }

func (intForm) append(to []byte, v reflect.Value) []byte { return strconv.AppendInt(to, v.Int(), 10) }

func (intForm) read(in *input, tok json.Token, v reflect.Value) error {
	text, _ := tok.(json.Number)
	n, err := strconv.ParseInt(string(text), 10, strconv.IntSize)
	if err != nil {
		return in.fail("want a whole number, found %s", found(tok))
	}
	v.SetInt(n)
	return nil
}

// floatForm is a number, or the name of one that JSON does not have.
type floatForm struct{ scalar }

func (floatForm) append(to []byte, v reflect.Value) []byte { return appendFloat(to, v.Float()) }

func appendFloat(to []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(to, `"NaN"`...)
	case math.IsInf(f, 1):
		return append(to, `"+Inf"`...)
	case math.IsInf(f, -1):
		return append(to, `"-Inf"`...)
	}
	format := byte('f')
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1e21) { // as encoding/json
		format = 'e'
	}
	return strconv.AppendFloat(to, f, format, -1, 64)
}

func (floatForm) read(in *input, tok json.Token, v reflect.Value) error {
	switch t := tok.(type) {
	case json.Number:
		if f, err := strconv.ParseFloat(string(t), 64); err == nil {
			v.SetFloat(f)
			return nil
		}
	case string:
		switch t {
		case "NaN":
			v.SetFloat(math.NaN())
			return nil
		case "+Inf":
			v.SetFloat(math.Inf(1))
			return nil
		case "-Inf":
			v.SetFloat(math.Inf(-1))
			return nil
		}
	}
	return in.fail("want a number, found %s", found(tok))
}

type textForm struct{ scalar }

func (textForm) append(to []byte, v reflect.Value) []byte { return appendText(to, v.String()) }

func (textForm) read(in *input, tok json.Token, v reflect.Value) error {
	text, ok := tok.(string)
	if !ok {
		return in.fail("want a text, found %s", found(tok))
	}
	v.SetString(text)
	return nil
}

// appendText appends a JSON string. Bytes that are not UTF-8 become U+FFFD.
func appendText(to []byte, text string) []byte {
	plain := func(r rune) bool { return r >= ' ' && r < 0x7f && r != '"' && r != '\\' }
	if strings.IndexFunc(text, func(r rune) bool { return !plain(r) }) < 0 {
		return append(append(append(to, '"'), text...), '"')
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // users search records for text
	if err := e.Encode(text); err != nil {
		panic("record: a string is not JSON: " + err.Error())
	}
	return append(to, bytes.TrimSuffix(b.Bytes(), []byte("\n"))...)
}

// wordForm is one of several words, or none.
type wordForm []string

func (wordForm) append(to []byte, v reflect.Value) []byte { return appendText(to, v.String()) }

func (w wordForm) read(in *input, tok json.Token, v reflect.Value) error {
	text, ok := tok.(string)
	if !ok || text != "" && !slices.Contains(w, text) {
		return in.fail("want one of %s, found %s", strings.Join(w, ", "), found(tok))
	}
	v.SetString(text)
	return nil
}

func (wordForm) absent(reflect.Value) {}

func (wordForm) omits(v reflect.Value, tagged bool) bool { return tagged && v.IsZero() }

type durationForm struct{ scalar }

func (durationForm) append(to []byte, v reflect.Value) []byte {
	return append(append(append(to, '"'), time.Duration(v.Int()).String()...), '"')
}

func (durationForm) read(in *input, tok json.Token, v reflect.Value) error {
	text, _ := tok.(string)
	d, err := time.ParseDuration(text)
	if err != nil {
		return in.fail(`want a duration with its unit, such as "30s" or "5m", found %s`, found(tok))
	}
	v.SetInt(int64(d))
	return nil
}

// timeForm is an instant, without location and monotonic clock.
type timeForm struct{}

func (timeForm) append(to []byte, v reflect.Value) []byte {
	t := v.Addr().Interface().(*time.Time)
	return append(t.UTC().AppendFormat(append(to, '"'), time.RFC3339Nano), '"')
}

func (timeForm) read(in *input, tok json.Token, v reflect.Value) error {
	text, _ := tok.(string)
	t, err := time.Parse(time.RFC3339Nano, text)
	t = t.UTC()
	if err != nil || t.Year() < 1 || t.Year() > 9999 {
		return in.fail(`want a time such as "2006-01-02T15:04:05Z", found %s`, found(tok))
	}
	v.Set(reflect.ValueOf(t))
	return nil
}

func (timeForm) absent(reflect.Value) {}

// omits always leaves a zero time out: it means none.
func (timeForm) omits(v reflect.Value, _ bool) bool {
	return v.Addr().Interface().(*time.Time).IsZero()
}
