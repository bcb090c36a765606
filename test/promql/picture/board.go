package picture

import (
	"bytes"
	"fmt"
	"html"
	"io"
	"slices"
	"strings"

	"github.com/llm-d-incubation/workload-variant-autoscaler/test/promql/dashboard"
)

// Measures of a picture, in pixels.
const (
	margin  = 20
	column  = 50 // of Grafana's grid
	row     = 36
	gap     = 8
	headed  = 74 // the height of the title
	padding = 12
)

// box is a rectangle.
type box struct{ x, y, w, h float64 }

// canvas is an SVG file in the making.
type canvas struct {
	bytes.Buffer

	look dashboard.Look
}

// Draw writes a dashboard as one SVG file.
func Draw(w io.Writer, sheet *dashboard.Sheet) error {
	c, board := &canvas{look: sheet.Look}, sheet.Dashboard
	bottom := 0.0
	for _, a := range sheet.Answers {
		bottom = max(bottom, frame(a).y+frame(a).h)
	}
	width, height := 2*margin+24*column-gap, bottom+margin
	fmt.Fprintf(c, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %.0f" width="%d" height="%.0f" role="img" font-family="system-ui, sans-serif">`+"\n",
		width, height, width, height)
	fmt.Fprintf(c, "<title>%s</title>\n%s", html.EscapeString(board.Title), style)
	fmt.Fprintf(c, `<rect width="%d" height="%.0f" style="fill: var(--page)"/>`+"\n", width, height)
	c.text(margin, margin+18, "head", "start", board.Title)
	c.text(margin, margin+40, "lead", "start", board.Description)
	c.choices(margin+24*column-gap, sheet.Choices)
	for _, a := range sheet.Answers {
		c.panel(a)
	}
	c.WriteString("</svg>\n")
	if _, err := w.Write(c.Bytes()); err != nil {
		return fmt.Errorf("drawing the dashboard %s: %w", board.Title, err)
	}
	return nil
}

// choices writes the values of the variables, right-aligned at x.
func (c *canvas) choices(x float64, choices []dashboard.Choice) {
	for _, choice := range slices.Backward(choices) {
		label, value := choice.Label+"  ", cut(choice.Value, 40)
		width := float64(len(label))*6 + float64(len(value))*6.8 + 20
		x -= width
		fmt.Fprintf(c, `<rect class="card" x="%.1f" y="%d" width="%.1f" height="26" rx="5"/><text x="%.1f" y="%d" xml:space="preserve">%s<tspan class="text">%s</tspan></text>`+"\n",
			x, margin, width, x+9, margin+17, html.EscapeString(label), html.EscapeString(value))
		x -= gap
	}
}

// frame returns the place of the card of a panel.
func frame(a dashboard.Answer) box {
	g := a.Panel.Grid
	return box{
		margin + float64(g.X)*column, headed + float64(g.Y)*row,
		float64(g.W)*column - gap, float64(g.H)*row - gap,
	}
}

// panel draws one card.
func (c *canvas) panel(a dashboard.Answer) {
	b := frame(a)
	fmt.Fprintf(c, "<g><title>%s</title>\n", html.EscapeString(a.Panel.Description))
	fmt.Fprintf(c, `<rect class="card" x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="6"/>`+"\n", b.x, b.y, b.w, b.h)
	c.text(b.x+padding, b.y+21, "title", "start", a.Panel.Title)
	inner := box{b.x + padding, b.y + 32, b.w - 2*padding, b.h - 32 - padding}
	switch {
	case len(a.Series) == 0:
		c.words(inner, a.Panel.FieldConfig.Defaults.NoValue)
	case a.Panel.Type == "stat":
		c.stat(inner, a)
	case a.Panel.Type == "table":
		c.table(inner, a)
	default:
		c.plot(inner, a)
	}
	c.WriteString("</g>\n")
}

// words writes a sentence in the middle of a box.
func (c *canvas) words(b box, sentence string) {
	lines := wrap(sentence, int(b.w/7))
	y := b.y + b.h/2 - float64(len(lines)-1)*9
	for i, line := range lines {
		c.text(b.x+b.w/2, y+float64(i)*18, "words", "middle", line)
	}
}

// stat writes the latest value.
func (c *canvas) stat(b box, a dashboard.Answer) {
	field := a.Panel.FieldConfig.Defaults
	v := a.Series[0].Last()
	shown, ok := field.Mapped(v)
	if !ok {
		shown = number(v, field.Unit, field.Decimals)
	}
	size := "big "
	if len(shown) > 9 {
		size = "long "
	}
	c.text(b.x+b.w/2, b.y+b.h/2+10, size+field.Color(v), "middle", shown)
}

// text writes one line.
func (c *canvas) text(x, y float64, class, anchor, text string) {
	fmt.Fprintf(c, `<text x="%.1f" y="%.1f" class="%s" text-anchor="%s">%s</text>`+"\n", x, y, class, anchor, html.EscapeString(text))
}

// wrap breaks a sentence into lines of most characters or fewer.
func wrap(sentence string, most int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(sentence) {
		if line != "" && len(line)+1+len(word) > most {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}

// cut shortens a text to most characters.
func cut(text string, most int) string {
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return string(runes[:max(most-1, 0)]) + "…"
}
