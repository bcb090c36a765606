package spelling

import (
	"strings"
	"time"
)

// Duration writes d as [time.Duration.String] does, without the units that are 0: 5m and
// not 5m0s. [time.ParseDuration] reads it.
func Duration(d time.Duration) string {
	text := d.String()
	for _, zero := range []struct{ suffix, unit string }{{"m0s", "m"}, {"h0m", "h"}} {
		if cut, ok := strings.CutSuffix(text, zero.suffix); ok {
			text = cut + zero.unit
		}
	}
	return text
}
