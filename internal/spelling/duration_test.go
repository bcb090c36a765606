package spelling

import (
	"testing"
	"time"
)

func TestADurationHasNoUnitsThatAreZero(t *testing.T) {
	for d, want := range map[time.Duration]string{
		time.Second: "1s", 90 * time.Second: "1m30s", 5 * time.Minute: "5m", time.Hour: "1h", 24 * time.Hour: "24h",
		time.Hour + 30*time.Second: "1h0m30s", 0: "0s",
	} {
		if got := Duration(d); got != want {
			t.Errorf("%s: got %q, want %q", d, got, want)
		}
	}
}
