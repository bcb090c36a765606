package spelling

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Visible returns text with its control characters spelt out, as \u001b, but for those
// in keep: a terminal would obey them, and text of the cluster is written by others. So
// are the marks that turn the direction of text, the separators of lines and
// paragraphs, and what is no UTF-8.
func Visible(text, keep string) string {
	if strings.IndexFunc(text, func(r rune) bool { return hidden(r) && !strings.ContainsRune(keep, r) || r == utf8.RuneError }) < 0 {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && size <= 1, hidden(r) && !strings.ContainsRune(keep, r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteString(text[:size])
		}
		text = text[size:]
	}
	return b.String()
}

// hidden reports whether a character does something in the place of being shown.
func hidden(r rune) bool {
	return unicode.Is(unicode.Cc, r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp)
}
