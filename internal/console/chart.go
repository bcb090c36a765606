package console

import (
	"math"
	"strings"
)

// Bar returns ratio, in [0, 1], as a bar of width cells in steps of an eighth of a cell, such as
// "███▌    ". Values outside count as the nearest end; an unknown value (NaN) gives question marks.
func Bar(ratio float64, width int) string {
	width = max(0, width)
	if math.IsNaN(ratio) {
		return strings.Repeat("?", width)
	}
	parts := []rune(" ▏▎▍▌▋▊▉")
	eighths := int(math.Round(min(max(ratio, 0), 1) * float64(width) * 8))
	bar := strings.Repeat("█", eighths/8)
	if eighths%8 > 0 {
		bar += string(parts[eighths%8])
	}
	return pad(bar, width, false)
}

// Spark returns values over time, one cell each, as "▁▂▅█▇". The scale goes from 0 to the larger of
// top and the largest value. Zero and less is ▁, an unknown value (NaN) a space.
func Spark(values []float64, top float64) string {
	levels := []rune("▁▂▃▄▅▆▇█")
	for _, v := range values {
		if !math.IsNaN(v) && !math.IsInf(v, 1) {
			top = max(top, v)
		}
	}
	var b strings.Builder
	for _, v := range values {
		switch {
		case math.IsNaN(v):
			b.WriteByte(' ')
		case v <= 0 || top <= 0:
			b.WriteRune(levels[0])
		default:
			level := int(math.Round(min(v/top, 1) * float64(len(levels)-1)))
			b.WriteRune(levels[level])
		}
	}
	return b.String()
}
