package console

import (
	"io"
	"strings"
	"testing"
)

func TestWhatIsPrintedOfTheClusterControlsNoTerminal(t *testing.T) {
	const text = "模型\t\x1b[2K\r\u009b1A\u202e é\n"
	const want = "模型\t\\u001b[2K\\u000d\\u009b1A\\u202e é\n"
	for size := 1; size <= len(text); size++ { // however it is cut
		var out strings.Builder
		w := Visible(&out)
		for rest := text; len(rest) > 0; {
			n := min(size, len(rest))
			if wrote, err := io.WriteString(w, rest[:n]); err != nil || wrote != n {
				t.Fatalf("wrote %d of %d bytes: %v", wrote, n, err)
			}
			rest = rest[n:]
		}
		if out.String() != want {
			t.Errorf("in pieces of %d bytes: %q, want %q", size, out.String(), want)
		}
	}
}
