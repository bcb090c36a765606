package prometheus

import (
	"strconv"
	"testing"
	"time"
)

// FuzzRetryAfter reads what a store, or what stands before it, says of when to come back:
// never a time in the past, and a number of seconds as it stands.
func FuzzRetryAfter(f *testing.F) {
	for _, header := range []string{"", "0", "120", "-1", "+5", "99999999999999999999", "1e3", "Sun, 06 Nov 1994 08:49:37 GMT", "Fri, 31 Dec 9999 23:59:59 GMT", " 5", "٣"} {
		f.Add(header, int64(1_700_000_000))
	}
	f.Fuzz(func(t *testing.T, header string, unix int64) {
		now := time.Unix(unix%(1<<34), 0)
		got := retryAfter(header, now)
		if got < 0 {
			t.Fatalf("%q at %s is %s", header, now, got)
		}
		if n, err := strconv.ParseUint(header, 10, 31); err == nil && got != time.Duration(n)*time.Second {
			t.Fatalf("%q is %s", header, got)
		}
	})
}
