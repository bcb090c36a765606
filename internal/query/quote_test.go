package query

import (
	"strconv"
	"testing"
	"unicode/utf8"
)

// unquote reads a string of PromQL as its lexer does: the string ends at the
// first quote that is not escaped, a line break in it is an error, and the
// escapes are Go's.
func unquote(t *testing.T, literal string) string {
	t.Helper()
	if literal == "" || literal[0] != '"' || !utf8.ValidString(literal) {
		t.Fatalf("%s does not begin a string", literal)
	}
	for i := 1; i < len(literal); i++ {
		switch literal[i] {
		case '\\':
			i++
		case '\n':
			t.Fatalf("%q has a line break within", literal)
		case '"':
			if i != len(literal)-1 {
				t.Fatalf("%s ends at %d and goes on", literal, i)
			}
			text, err := strconv.Unquote(literal)
			if err != nil {
				t.Fatalf("%s: %v", literal, err)
			}
			return text
		}
	}
	t.Fatalf("%s does not end", literal)
	return ""
}
