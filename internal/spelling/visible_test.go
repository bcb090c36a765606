package spelling

import "testing"

func TestControlCharactersAreSpeltOut(t *testing.T) {
	for text, want := range map[string]string{
		"":                            "",
		"meta/llama 模型 é":             "meta/llama 模型 é",
		"m\x1b]52;c;x\x07":            `m\u001b]52;c;x\u0007`,
		"a\rb\x7f":                    `a\u000db\u007f`,
		"csi \u009b2K, raw \x9b2K":    `csi \u009b2K, raw \ufffd2K`,
		"turned \u202e, line \u2028.": `turned \u202e, line \u2028.`,
		"a replacement \ufffd stays":  "a replacement \ufffd stays",
		"two\nlines\tof cells":        "two\nlines\tof cells",
	} {
		if got := Visible(text, "\n\t"); got != want {
			t.Errorf("Visible(%q) is %q, want %q", text, got, want)
		}
	}
	if got := Visible("two\nlines", ""); got != `two\u000alines` {
		t.Errorf("a line that is none to keep stays: %q", got)
	}
}
