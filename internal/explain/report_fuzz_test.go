package explain

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// FuzzReport shows whatever answers in the place of a manager: nothing crashes, and no
// text moves the cursor or begins a line of its own.
func FuzzReport(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"variant":{"Key":{"Namespace":"a","Name":"b"},"Model":{"ID":"m\u001b[2J\nn"}},"decided":true}`,
		`{"decided":true,"at":"2026-11-20T12:00:00Z","decision":{"Current":1,"Steps":[{"Stage":"optimize","From":1,"To":-9223372036854775808,"Reason":"Saturated","Detail":"a\rb"}]},"model":[{}]}`,
		`{"actuation":{"known":true,"scalers":[{"kind":"HorizontalPodAutoscaler","name":"h","max":-1}]},"startUps":{"usual":"1h","pods":-3},"objective":{"TTFT":1e300}}`,
	} {
		f.Add([]byte(seed))
	}
	whole, err := json.Marshal(Explanation{Decided: true})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	now := time.Date(2026, 11, 20, 12, 0, 10, 0, time.UTC)
	f.Fuzz(func(t *testing.T, data []byte) {
		var e Explanation
		if json.Unmarshal(data, &e) != nil {
			return
		}
		text := Report(e, now)
		for _, r := range text {
			if r < ' ' && r != '\n' || r == 0x7f || r >= 0x80 && r < 0xa0 {
				t.Fatalf("a report with %U:\n%q", r, text)
			}
		}
		if !utf8.ValidString(text) || !strings.HasSuffix(text, "\n") {
			t.Fatalf("a report that is no text: %q", text)
		}
		if again := Report(e, now); again != text {
			t.Fatalf("the same explanation reads otherwise:\n%s\n%s", text, again)
		}
	})
}
