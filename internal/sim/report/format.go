package report

import (
	"math"
	"strconv"
	"strings"
)

// absent stands for an unknown value.
const absent = "–"

// space keeps a number and its unit on one line.
const space = "\u00a0"

// number writes up to three digits, or all digits before the point: 0.0123, 1.5, 12.3, 123, 12345.
// The script in the page does the same.
func number(v float64) string {
	switch size := math.Abs(v); {
	case !finite(v):
		return absent
	case v == math.Trunc(v) || size >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case size >= 10:
		return string(plain(v, 1))
	case size >= 1:
		return string(plain(v, 2))
	default:
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
}

// percent writes a ratio with one decimal, rounded down: a ratio that misses a target never reads
// as if it met it.
func percent(ratio float64) string {
	if !finite(ratio) {
		return absent
	}
	const guard = 1e-9 // 0.943 is stored as a little less
	tenths := math.Floor(ratio*1000 + guard)
	return strconv.FormatFloat(tenths/10, 'f', -1, 64) + space + "%"
}

// latency writes ms as 412 ms or 12.3 s.
func latency(ms float64) string {
	switch {
	case !finite(ms):
		return absent
	case ms >= 1000:
		return number(ms/1000) + space + "s"
	default:
		return number(ms) + space + "ms"
	}
}

// plain writes a number with at most so many digits after the point.
func plain(v float64, digits int) []byte {
	text := strconv.FormatFloat(v, 'f', digits, 64)
	if digits > 0 {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return []byte(text)
}
