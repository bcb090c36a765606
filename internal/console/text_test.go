package console

import (
	"math"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestWidthCountsTerminalCells(t *testing.T) {
	for text, want := range map[string]int{
		"":                       0,
		"replicas":               8,
		"größe":                  5,
		"e\u0301":                1,
		"模型":                     4,
		"🚀 up":                   5,
		"▁▂█…":                   4,
		"\x1b[31mred\x1b[0m":     3,
		"\x1b[38;5;12mx\x1b[0mé": 2,
		"\x1b[":                  0,
	} {
		if got := Width(text); got != want {
			t.Errorf("Width(%q) = %d, want %d", text, got, want)
		}
	}
}

func TestTruncateEndsWithAnEllipsis(t *testing.T) {
	for _, test := range []struct {
		text  string
		width int
		want  string
	}{
		{"llama", 5, "llama"},
		{"llama", 4, "lla…"},
		{"llama", 1, "…"},
		{"llama", 0, "llama"},
		{"模型模型", 6, "模型…"},
		{"\x1b[31mllama\x1b[0m!", 3, "\x1b[31mll…\x1b[0m"},
	} {
		if got := Truncate(test.text, test.width); got != test.want {
			t.Errorf("Truncate(%q, %d) = %q, want %q", test.text, test.width, got, test.want)
		}
	}
}

func FuzzTruncate(f *testing.F) {
	f.Add("\x1b[1mvariant\x1b[0m 模型 🚀", 5)
	f.Add("\xff\x1b", 1)
	f.Fuzz(func(t *testing.T, text string, width int) {
		got := Truncate(text, width)
		if width > 0 && Width(got) > width {
			t.Fatalf("Truncate(%q, %d) = %q takes %d cells", text, width, got, Width(got))
		}
		if utf8.ValidString(text) && !utf8.ValidString(got) {
			t.Fatalf("Truncate(%q, %d) = %q is not UTF-8", text, width, got)
		}
	})
}

func TestBarShowsTheRatio(t *testing.T) {
	for _, test := range []struct {
		ratio float64
		want  string
	}{
		{0, "    "},
		{0.5, "██  "},
		{1, "████"},
		{1.0 / 32, "▏   "},
		{0.6, "██▍ "},
		{-3, "    "},
		{math.Inf(1), "████"},
		{math.NaN(), "????"},
	} {
		if got := Bar(test.ratio, 4); got != test.want {
			t.Errorf("Bar(%g, 4) = %q, want %q", test.ratio, got, test.want)
		}
	}
}

func TestSparkScalesToTheTop(t *testing.T) {
	for _, test := range []struct {
		values []float64
		top    float64
		want   string
	}{
		{nil, 0, ""},
		{[]float64{0, 0}, 0, "▁▁"},
		{[]float64{0, 1, 2, 3, 4, 5, 6, 7}, 0, "▁▂▃▄▅▆▇█"},
		{[]float64{1, 2, 3}, 7, "▂▃▄"},
		{[]float64{1, 14}, 7, "▂█"},
		{[]float64{-1, math.NaN(), 7, math.Inf(1)}, 0, "▁ ██"},
	} {
		if got := Spark(test.values, test.top); got != test.want {
			t.Errorf("Spark(%v, %g) = %q, want %q", test.values, test.top, got, test.want)
		}
	}
}

func TestTableHasNoControlCharacters(t *testing.T) {
	var b strings.Builder
	table := Table{Columns: []Column{Left("A")}, Rows: [][]string{{"two\nlines\tand\ra return"}, {"next"}}}
	if err := table.Write(&b); err != nil {
		t.Fatal(err)
	}
	if got, want := b.String(), "A\ntwo lines and a return\nnext\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
