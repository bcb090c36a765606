package prometheus

import "github.com/go-json-experiment/json/jsontext"

// labels are the labels of the row that is being read. They are text in a buffer that the next row
// overwrites; a label becomes a string when get returns it.
type labels struct {
	strings *interner
	text    []byte   // names and values one after the other
	spans   []span   // of the row's labels in text
	before  []string // by position, the value that get last returned there
}

// span is the place of a label in the text: its name from start to middle, its value from there to
// end.
type span struct{ start, middle, end int }

// reset forgets the labels of the row before.
func (l *labels) reset() { l.text, l.spans = l.text[:0], l.spans[:0] }

// name begins a label.
func (l *labels) name(quoted jsontext.Value) {
	start := len(l.text)
	l.text = appendText(l.text, quoted)
	l.spans = append(l.spans, span{start: start, middle: len(l.text), end: len(l.text)})
}

// value ends the label that name began.
func (l *labels) value(quoted jsontext.Value) {
	l.text = appendText(l.text, quoted)
	l.spans[len(l.spans)-1].end = len(l.text)
}

// get returns the value of a label, "" where there is none.
func (l *labels) get(name string) string {
	for i, at := range l.spans {
		if string(l.text[at.start:at.middle]) == name {
			return l.interned(i, l.text[at.middle:at.end])
		}
	}
	return ""
}

// interned returns the value of the label at position i as a string. Rows repeat
// the namespace and the model of the row before, mostly at the same position.
func (l *labels) interned(i int, value []byte) string {
	for len(l.before) <= i {
		l.before = append(l.before, "")
	}
	if l.before[i] != string(value) {
		l.before[i] = l.strings.of(value)
	}
	return l.before[i]
}

// appendText appends the text of a JSON string.
func appendText(to []byte, quoted jsontext.Value) []byte {
	// The decoder has read the string, so the only error is text that is not UTF-8, which it
	// replaces by U+FFFD.
	text, _ := jsontext.AppendUnquote(to, quoted)
	return text
}
