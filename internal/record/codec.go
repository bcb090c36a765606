package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"sync"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// forms returns the forms of all types that a Cycle reaches. They are built at the first use.
var forms = sync.OnceValue(func() *builder {
	b := newBuilder()
	b.of(reflect.TypeFor[Cycle]())
	return b
})

// Append appends c to a buffer as JSON without a line break. The buffer shares no memory with c.
func (c Cycle) Append(to []byte) []byte {
	return forms().of(reflect.TypeFor[Cycle]()).append(to, reflect.ValueOf(&c).Elem())
}

// AppendPlan appends a plan in the form that it has in a Cycle.
func AppendPlan(to []byte, p scaling.Plan) []byte {
	return forms().of(reflect.TypeFor[scaling.Plan]()).append(to, reflect.ValueOf(&p).Elem())
}

// SamePlan reports whether two plans are written as the same bytes.
func SamePlan(a, b scaling.Plan) bool {
	return bytes.Equal(AppendPlan(nil, a), AppendPlan(nil, b))
}

// FieldError is the error of a field of a record that is not accepted.
type FieldError struct {
	Path    string // such as snapshots[0].variants[2].cost, "" for the record itself
	Problem string // what was found and what is accepted
}

// Error returns the path and the problem.
func (e *FieldError) Error() string {
	if e.Path == "" {
		return e.Problem
	}
	return e.Path + ": " + e.Problem
}

// Decode reads a Cycle from JSON that holds nothing else. The error is a *FieldError for a field
// that is not accepted, and wraps io.ErrUnexpectedEOF where the text ends too early.
func Decode(text []byte) (Cycle, error) {
	c, err := decode(text)
	if err != nil {
		return Cycle{}, err
	}
	if err := c.check(); err != nil {
		return Cycle{}, err
	}
	return c, nil
}

// decode reads a Cycle and checks only its shape.
func decode(text []byte) (Cycle, error) {
	var c Cycle
	in := newInput(text)
	err := in.read(forms().of(reflect.TypeFor[Cycle]()), reflect.ValueOf(&c).Elem())
	if _, refused := errors.AsType[*FieldError](err); refused || err == nil {
		// A record of another format may differ in everything else.
		if c.Format != 0 && c.Format != Format {
			return Cycle{}, &FieldError{Path: "format", Problem: fmt.Sprintf("want %d, the format that this version reads, found %d", Format, c.Format)}
		}
	}
	if err != nil {
		return Cycle{}, err
	}
	switch tok, err := in.decoder.Token(); {
	case err == nil:
		return Cycle{}, &FieldError{Problem: fmt.Sprintf("want one record, found %s after it", found(tok))}
	case !errors.Is(err, io.EOF):
		return Cycle{}, in.broken(err)
	}
	c.Format = Format
	return c, nil
}

// input is the text of a record that is being read.
type input struct {
	decoder *json.Decoder
	text    []byte
	path    []step // of the value that is being read
}

// step is one part of a path: a field, or an index where the field is "".
type step struct {
	field string
	index int
}

func newInput(text []byte) *input {
	in := &input{decoder: json.NewDecoder(bytes.NewReader(text)), text: text}
	in.decoder.UseNumber()
	return in
}

// read reads the next value into v.
func (in *input) read(f form, v reflect.Value) error {
	tok, err := in.next()
	if err != nil {
		return err
	}
	return f.read(in, tok, v)
}

// next returns the next token.
func (in *input) next() (json.Token, error) {
	tok, err := in.decoder.Token()
	if err != nil {
		return nil, in.broken(err)
	}
	return tok, nil
}

// below reads the next value into v, at the present path with s added.
func (in *input) below(s step, f form, v reflect.Value) error {
	in.path = append(in.path, s)
	err := in.read(f, v)
	in.path = in.path[:len(in.path)-1]
	return err
}

// broken returns an error that says where the text is not JSON.
func (in *input) broken(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("reading JSON: the text ends within the record: %w", io.ErrUnexpectedEOF)
	}
	at := in.text[:min(in.decoder.InputOffset(), int64(len(in.text)))]
	line := 1 + bytes.Count(at, []byte("\n"))
	return fmt.Errorf("reading JSON: line %d, column %d: %w", line, len(at)-bytes.LastIndexByte(at, '\n'), err)
}

// fail returns a FieldError for the present path.
func (in *input) fail(format string, args ...any) error {
	return &FieldError{Path: pathText(in.path), Problem: fmt.Sprintf(format, args...)}
}

// pathText returns a path as text: snapshots[0].model.
func pathText(path []step) string {
	var text []byte
	for _, s := range path {
		switch {
		case s.field == "":
			text = fmt.Appendf(text, "[%d]", s.index)
		case len(text) == 0:
			text = append(text, s.field...)
		default:
			text = append(append(text, '.'), s.field...)
		}
	}
	return string(text)
}

// found returns a token in words.
func found(tok json.Token) string {
	switch t := tok.(type) {
	case json.Delim:
		if t == '{' {
			return "an object"
		}
		return "a list"
	case string:
		return fmt.Sprintf("%.80q", t)
	case nil:
		return "null"
	default:
		return fmt.Sprintf("%.80v", t)
	}
}
