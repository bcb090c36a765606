package console

import (
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/spelling"
)

// Visible returns a writer to w of lines and tabs that spells every other control
// character out, as spelling.Visible does: names and messages of the cluster are
// written by others, and a terminal would obey them. It has no colours.
func Visible(w io.Writer) io.Writer { return &visible{to: w} }

type visible struct {
	to   io.Writer
	rest []byte // the beginning of a character whose end is yet to be written
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
