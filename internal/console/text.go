package console

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	escape   = '\x1b'
	ellipsis = "…"
)

// Width returns the number of terminal cells that s takes: escape sequences, control characters and
// combining marks take none, East Asian wide characters and emoji two.
func Width(s string) int {
	n := 0
	for len(s) > 0 {
		cells, size := cell(s)
		n += cells
		s = s[size:]
	}
	return n
}

// Truncate returns s if it fits into width cells, else its beginning and "…", together at most
// width cells. Escape sequences are kept, so that colours still end. A width <= 0 leaves s
// unchanged.
func Truncate(s string, width int) string {
	if width <= 0 || Width(s) <= width {
		return s
	}
	var b strings.Builder
	used, full := 0, false
	for len(s) > 0 {
		cells, size := cell(s)
		switch {
		case s[0] == escape:
			b.WriteString(s[:size])
		case full:
		case used+cells > width-1:
			b.WriteString(ellipsis)
			full = true
		default:
			b.WriteString(s[:size])
			used += cells
		}
		s = s[size:]
	}
	return b.String()
}

// pad appends or prepends spaces up to width cells.
func pad(s string, width int, right bool) string {
	spaces := strings.Repeat(" ", max(0, width-Width(s)))
	if right {
		return spaces + s
	}
	return s + spaces
}

// clean replaces control characters other than escape sequences by spaces, since they would break a
// line.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != escape {
			return ' '
		}
		return r
	}, s)
}

// cell returns the cells and the bytes of the first character or escape sequence of s, which is not
// empty.
func cell(s string) (cells, size int) {
	if s[0] == escape {
		return 0, sequence(s)
	}
	r, size := utf8.DecodeRuneInString(s)
	switch {
	case unicode.IsControl(r) || unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0, size
	case wide(r):
		return 2, size
	}
	return 1, size
}

// sequence returns the length of the escape sequence at the beginning of s: ESC [, parameters and
// one letter (ECMA-48, 5.4), or ESC alone.
func sequence(s string) int {
	if len(s) < 2 || s[1] != '[' {
		return 1
	}
	for i := 2; i < len(s); i++ {
		if s[i] >= 0x40 && s[i] <= 0x7e {
			return i + 1
		}
	}
	return len(s)
}

// wide reports whether r takes two cells: it is in the blocks of Unicode's EastAsianWidth W and F
// on which terminals agree.
func wide(r rune) bool {
	switch {
	case r < 0x1100:
		return false
	case r <= 0x115f, // Hangul initials
		r >= 0x2e80 && r <= 0xa4cf && r != 0x303f, // CJK, kana
		r >= 0xac00 && r <= 0xd7a3,                // Hangul
		r >= 0xf900 && r <= 0xfaff,                // CJK compatibility
		r >= 0xfe30 && r <= 0xfe6f,
		r >= 0xff00 && r <= 0xff60, // full width forms
		r >= 0xffe0 && r <= 0xffe6,
		r >= 0x1f300 && r <= 0x1f64f, // emoji
		r >= 0x1f680 && r <= 0x1f6ff,
		r >= 0x1f900 && r <= 0x1f9ff,
		r >= 0x20000 && r <= 0x3fffd:
		return true
	}
	return false
}
