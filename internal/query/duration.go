package query

import (
	"strconv"
	"time"
)

// Duration renders d for PromQL in whole units of the largest kind that fits exactly: "30s", "90m",
// "2d". It drops parts of a second, and renders anything below one second, which is no useful
// range, as "1s".
func Duration(d time.Duration) string {
	seconds := max(int64(d/time.Second), 1)
	for _, unit := range []struct {
		seconds int64
		suffix  string
	}{{86400, "d"}, {3600, "h"}, {60, "m"}} {
		if seconds%unit.seconds == 0 {
			return strconv.FormatInt(seconds/unit.seconds, 10) + unit.suffix
		}
	}
	return strconv.FormatInt(seconds, 10) + "s"
}
