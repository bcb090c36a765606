package console

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite testdata")

// golden compares got with testdata/name.txt. Escape sequences are written as
// ␛, so that the files can be read.
func golden(t *testing.T, name, got string) {
	t.Helper()
	got = strings.ReplaceAll(got, "\x1b", "␛")
	path := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got, -update rewrites it):\n%s", path, diff)
	}
}

var columns = []Column{Left("VARIANT"), Right("READY"), Right("DESIRED"), Left("KV USAGE"), Left("REASON")}

func rows(p Paint) [][]string {
	return [][]string{
		{"llama-8b-l40s", "2", p.Good("3"), Bar(0.83, 8), "DemandAboveSupply"},
		{"llama-8b-2xh100", "10", p.Bad("10"), Bar(0.4, 8), p.Faint("Steady")},
		{"模型-a100", "0", "0", Bar(0, 8)},
		{"late", "1", "1", Bar(1, 8), "Hold", "beyond the last column"},
	}
}

func TestTableAlignsItsColumns(t *testing.T) {
	var b strings.Builder
	for _, table := range []Table{
		{Columns: columns, Rows: rows(Paint{})},
		{Columns: columns, Rows: rows(Terminal{Colour: true}.Paint())},
		{Columns: columns},
		{Columns: []Column{Left(""), Right("")}, Rows: [][]string{{"min", "1"}, {"max", "12"}}},
		{},
	} {
		if err := table.Write(&b); err != nil {
			t.Fatal(err)
		}
		b.WriteString("--\n")
	}
	golden(t, "table", b.String())
}
