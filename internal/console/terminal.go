package console

import (
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/spelling"
)

// Terminal says what a writer can show. The zero value is no terminal: plain lines of any width,
// without colour.
type Terminal struct {
	// Interactive says whether the cursor can move, so that a block can be redrawn.
	Interactive bool
	// Colour says whether colours are wanted and can be shown.
	Colour bool
	// Size returns the columns and lines of the window, which may change; 0 is
	// unknown and does not limit. nil is unknown.
	Size func() (columns, lines int)
}

// Detect finds out what w can show. getenv is os.Getenv outside tests.
func Detect(w io.Writer, getenv func(string) string) Terminal {
	file, ok := w.(interface{ Fd() uintptr })
	if !ok || !term.IsTerminal(int(file.Fd())) || getenv("TERM") == "dumb" {
		return Terminal{}
	}
	return Terminal{
		Interactive: true,
		Colour:      getenv("NO_COLOR") == "",
		Size: func() (int, int) {
			columns, lines, err := term.GetSize(int(file.Fd()))
			if err != nil {
				return 0, 0
			}
			return columns, lines
		},
	}
}

func (t Terminal) size() (columns, lines int) {
	if t.Size == nil {
		return 0, 0
	}
	return t.Size()
}

// Paint returns the painter of this terminal.
func (t Terminal) Paint() Paint { return Paint{colour: t.Colour} }

// Paint colours text, or leaves it unchanged where colour is not wanted. The zero value does not
// colour. Colour only repeats what the text says.
type Paint struct {
	colour bool
}

// Good returns s in green.
func (p Paint) Good(s string) string { return p.sgr("32", s) }

// Warn returns s in yellow.
func (p Paint) Warn(s string) string { return p.sgr("33", s) }

// Bad returns s in red.
func (p Paint) Bad(s string) string { return p.sgr("31", s) }

// Strong returns s in bold.
func (p Paint) Strong(s string) string { return p.sgr("1", s) }

// Faint returns s dimmed.
func (p Paint) Faint(s string) string { return p.sgr("2", s) }

// sgr wraps s in a Select Graphic Rendition sequence (ECMA-48, 8.3.117).
func (p Paint) sgr(code, s string) string {
	if !p.colour || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// Visible returns a writer to w that spells out every control character except line breaks and
// tabs, as spelling.Visible does: others write the names and messages of the cluster, and a
// terminal would obey them. It keeps no colours.
func Visible(w io.Writer) io.Writer { return &visible{to: w} }

type visible struct {
	to   io.Writer
	rest []byte // the first bytes of a character that is not complete yet
}

// Write implements io.Writer.
func (v *visible) Write(p []byte) (int, error) {
	text := slices.Concat(v.rest, p)
	whole := len(text)
	for i := 1; i < utf8.UTFMax && i <= len(text); i++ {
		if utf8.RuneStart(text[len(text)-i]) {
			if !utf8.FullRune(text[len(text)-i:]) {
				whole = len(text) - i
			}
			break
		}
	}
	v.rest = text[whole:]
	if _, err := io.WriteString(v.to, spelling.Visible(string(text[:whole]), "\n\t")); err != nil {
		return 0, fmt.Errorf("printing: %w", err)
	}
	return len(p), nil
}
