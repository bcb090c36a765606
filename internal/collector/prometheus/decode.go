package prometheus

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// decoder reads the JSON of one answer to an instant query. It passes each row to the function row
// as it reads it, and keeps the rest of the answer in its fields.
//
// It skips unknown members, wherever they are. A member that comes twice is an error.
type decoder struct {
	// row is called for every row that has a number. Its label returns the labels of that row until
	// it returns. Its error ends the reading.
	row    func(label func(name string) string, value float64) error
	json   *jsontext.Decoder
	labels labels

	status     string
	errorType  string
	message    string // of an answer that is an error
	resultType string
	hasResult  bool
	notes      []string  // warnings and infos
	at         time.Time // the latest of the rows' timestamps
	stamp      []byte    // the timestamp that was read last, as text

	// Of the row being read.
	value    float64
	hasValue bool
	skipped  bool // the row is a native histogram, not a number

	// The methods of the same names, bound once instead of once per row.
	onLabel, onRow func(jsontext.Value) error
	label          func(string) string
}

// shapeError is JSON that is no answer of the API.
type shapeError string

func (e shapeError) Error() string { return string(e) }

// decode reads one answer, to its end, from r.
func (d *decoder) decode(r io.Reader) error {
	d.json = jsontext.NewDecoder(r, jsontext.AllowInvalidUTF8(true))
	d.onLabel, d.onRow, d.label = d.readLabel, d.readRowMember, d.labels.get
	if err := d.object("an answer", d.readMember); err != nil {
		return err
	}
	switch _, err := d.json.ReadToken(); {
	case err == nil:
		return shapeError("garbage: more than one answer")
	case !errors.Is(err, io.EOF):
		return err
	}
	return nil
}

// readMember reads a member of the answer.
func (d *decoder) readMember(name jsontext.Value) error {
	switch string(name) {
	case `"status"`:
		return d.text(&d.status, "the status")
	case `"errorType"`:
		return d.text(&d.errorType, "the type of the error")
	case `"error"`:
		return d.text(&d.message, "the error")
	case `"warnings"`, `"infos"`:
		return d.array("warnings", d.readNote)
	case `"data"`:
		return d.object("the data", d.readData)
	default:
		return d.json.SkipValue()
	}
}

// readNote reads a warning or an info.
func (d *decoder) readNote() error {
	var note string
	err := d.text(&note, "a warning")
	d.notes = append(d.notes, note)
	return err
}

// readData reads a member of the data.
func (d *decoder) readData(name jsontext.Value) error {
	switch string(name) {
	case `"resultType"`:
		if err := d.text(&d.resultType, "the type of the result"); err != nil {
			return err
		}
		if d.resultType != "vector" && d.resultType != "" {
			return shapeError(fmt.Sprintf("a %s where a vector was expected", excerpt([]byte(d.resultType))))
		}
		return nil
	case `"result"`:
		d.hasResult = true
		return d.array("the result", d.readRow)
	default:
		return d.json.SkipValue()
	}
}

// readRow reads a row of the result.
func (d *decoder) readRow() error {
	d.labels.reset()
	d.hasValue, d.skipped = false, false
	if err := d.object("a row", d.onRow); err != nil {
		return err
	}
	switch {
	case d.hasValue:
		return d.row(d.label, d.value)
	case !d.skipped:
		return shapeError("garbage: a row without a value")
	}
	return nil
}

// readRowMember reads a member of a row.
func (d *decoder) readRowMember(name jsontext.Value) error {
	switch string(name) {
	case `"metric"`:
		return d.object("the labels of a row", d.onLabel)
	case `"value"`:
		d.hasValue = true
		return d.readValue()
	case `"histogram"`:
		d.skipped = true
	}
	return d.json.SkipValue()
}

// readLabel reads a label of a row.
func (d *decoder) readLabel(name jsontext.Value) error {
	d.labels.name(name)
	value, err := d.scalar('"', "the value of a label")
	if err != nil {
		return err
	}
	d.labels.value(value)
	return nil
}

// readValue reads the value of a row: a time [unix s] and a number as text.
func (d *decoder) readValue() error {
	if err := d.open('[', "the value of a row"); err != nil {
		return err
	}
	stamp, err := d.scalar('0', "the time of a row")
	if err != nil {
		return err
	}
	if !bytes.Equal(stamp, d.stamp) { // all rows have the same
		if err := d.readTime(stamp); err != nil {
			return err
		}
	}
	number, err := d.scalar('"', "the number of a row")
	if err != nil {
		return err
	}
	if d.value, err = strconv.ParseFloat(string(number[1:len(number)-1]), 64); err != nil {
		return shapeError("garbage: a text where the number of a row was expected")
	}
	return d.open(']', "the end of a row's value")
}

// readTime notes the time of a row.
func (d *decoder) readTime(stamp jsontext.Value) error {
	seconds, err := strconv.ParseFloat(string(stamp), 64)
	const year9999 = 253402300799
	if err != nil || seconds < 0 || seconds > year9999 {
		return shapeError("garbage: a row whose time is not between the years 1970 and 9999")
	}
	if at := time.UnixMilli(int64(math.Round(seconds * 1000))).UTC(); at.After(d.at) {
		d.at = at
	}
	d.stamp = append(d.stamp[:0], stamp...)
	return nil
}

// object reads an object by calling member with the name of each member, in
// quotes, to read its value. Null is an empty object.
func (d *decoder) object(what string, member func(name jsontext.Value) error) error {
	if d.json.PeekKind() == 'n' {
		return d.json.SkipValue()
	}
	if err := d.open('{', what); err != nil {
		return err
	}
	for d.json.PeekKind() != '}' {
		name, err := d.json.ReadValue()
		if err != nil {
			return err
		}
		if err := member(name); err != nil {
			return err
		}
	}
	_, err := d.json.ReadToken()
	return err
}

// array reads an array by calling element to read each element. Null is an empty
// array.
func (d *decoder) array(what string, element func() error) error {
	if d.json.PeekKind() == 'n' {
		return d.json.SkipValue()
	}
	if err := d.open('[', what); err != nil {
		return err
	}
	for d.json.PeekKind() != ']' {
		if err := element(); err != nil {
			return err
		}
	}
	_, err := d.json.ReadToken()
	return err
}

// text reads a string into s.
func (d *decoder) text(s *string, what string) error {
	quoted, err := d.scalar('"', what)
	if err != nil {
		return err
	}
	*s = string(appendText(nil, quoted))
	return nil
}

// open reads one bracket or brace.
func (d *decoder) open(kind jsontext.Kind, what string) error {
	if err := d.expect(kind, what); err != nil {
		return err
	}
	_, err := d.json.ReadToken()
	return err
}

// scalar reads a number or a string as written. It is valid until the next read.
func (d *decoder) scalar(kind jsontext.Kind, what string) (jsontext.Value, error) {
	if err := d.expect(kind, what); err != nil {
		return nil, err
	}
	return d.json.ReadValue()
}

// expect checks the kind of the next value. It leaves the end of the text and invalid JSON to the
// read that follows.
func (d *decoder) expect(kind jsontext.Kind, what string) error {
	next := d.json.PeekKind()
	if next == kind || next == jsontext.KindInvalid {
		return nil
	}
	return shapeError(fmt.Sprintf("garbage: %s where %s was expected", kindName(next), what))
}

// kindName names a kind of JSON for people.
func kindName(kind jsontext.Kind) string {
	switch kind {
	case '"':
		return "a string"
	case '0':
		return "a number"
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '}', ']':
		return "nothing"
	case 'n':
		return "null"
	default:
		return "a boolean"
	}
}

// missing returns why a well-formed body is no answer, "" if it is one.
func (d *decoder) missing() string {
	switch {
	case d.status == "error" && d.errorType == "" && d.message == "":
		return "an error that says nothing"
	case d.status == "error":
		return saidError(d.errorType, d.message)
	case !d.hasResult || d.resultType == "":
		return "an answer without a result"
	case d.status != "success":
		return "an answer with the status " + strconv.Quote(excerpt([]byte(d.status)))
	}
	return ""
}
