package chart

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Reference returns the tables of a chart's values, and of the successors of earlier charts'
// values, as Markdown under headings of the given level.
func Reference(values []*Value, published *Published, level int) (string, error) {
	var b strings.Builder
	heading := strings.Repeat("#", level)
	fmt.Fprintf(&b, "%s Values\n\n| Value | Default | Meaning |\n| --- | --- | --- |\n", heading)
	for _, v := range Leaves(values) {
		text, err := json.Marshal(v.Default)
		if err != nil {
			return "", fmt.Errorf("writing the default of %s: %w", v.Path, err)
		}
		meaning := v.Text
		if enum, ok := v.Schema["enum"].([]any); ok {
			meaning += " One of " + join(enum) + "."
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", v.Path, cell(string(text)), strings.ReplaceAll(meaning, "|", `\|`))
	}
	fmt.Fprintf(&b, "\n%s Values of earlier charts\n\n", heading)
	b.WriteString("They are converted, and none stops an upgrade: the notes name what has no effect. Where the new name is given too, it wins over a\nvalue that was the default of the earlier chart; two that were both chosen are refused where they differ. Thresholds, overrides and\nbehavior are compared key by key.\n\nWith helm, `--reset-then-reuse-values` keeps the values of a release. `--reuse-values` is refused: it puts the earlier chart's defaults\nin place of this chart's.\n\n")
	b.WriteString("| Earlier | Now |\n| --- | --- |\n")
	for _, move := range published.Moved {
		fmt.Fprintf(&b, "| `%s` | `%s` |\n", move.From, move.To)
	}
	for _, moves := range [][]Move{published.Models, published.Other} {
		for _, move := range moves {
			fmt.Fprintf(&b, "| `%s` | %s |\n", move.From, move.To)
		}
	}
	for _, gone := range published.Gone {
		fmt.Fprintf(&b, "| `%s` | without effect: %s |\n", gone.From, gone.Instead)
	}
	return b.String(), nil
}

// cell returns a default as code, "" for an empty text.
func cell(text string) string {
	if text == `""` {
		return ""
	}
	return "`" + strings.ReplaceAll(text, "|", `\|`) + "`"
}

func join(values []any) string {
	words := make([]string, len(values))
	for i, value := range values {
		words[i] = fmt.Sprintf("`%v`", value)
		if value == "" {
			words[i] = "empty"
		}
	}
	return strings.Join(words, ", ")
}
