package record

import (
	"bytes"
	"os"
	"testing"
)

// FuzzDecode checks that whatever is accepted is written and read again as the
// same bytes.
func FuzzDecode(f *testing.F) {
	text, err := os.ReadFile("testdata/case.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"now":"2026-11-20T12:00:00+01:00","snapshots":null,"history":[],"plan":{"at":"2026-11-20T12:00:00Z","decisions":[]}}`))
	f.Add([]byte(`{"format":1,"now":"0001-01-01T00:00:00.5Z","interval":"-1ns"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := Decode(text)
		if err != nil {
			return
		}
		first := c.Append(nil)
		again, err := Decode(first)
		if err != nil {
			t.Fatalf("%v in what was written:\n%s\nof:\n%s", err, first, text)
		}
		if second := again.Append(nil); !bytes.Equal(first, second) {
			t.Errorf("written as\n%s\nand again as\n%s", first, second)
		}
	})
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("{\"now\":\"2026-11-20T12:00:00Z\"}\n\n{\"now\":\n{}\n\x00"))
	f.Fuzz(func(t *testing.T, text []byte) {
		lines := bytes.Count(text, []byte("\n")) + 1
		n := 0
		for c, err := range Read(bytes.NewReader(text)) {
			if n++; err == nil && c.Now.IsZero() {
				t.Errorf("a cycle without a time in %q", text)
			}
		}
		if n > lines {
			t.Errorf("%d cycles and errors of %d lines", n, lines)
		}
	})
}
