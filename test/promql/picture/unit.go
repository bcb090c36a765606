package picture

import (
	"math"
	"strconv"
	"strings"
)

// scale is a unit that a value may be shown in.
type scale struct {
	per    float64
	symbol string
}

// scales returns the scales in which Grafana shows values of a unit, the smallest first.
func scales(unit string) []scale {
	switch unit {
	case "s":
		return []scale{{1e-6, " µs"}, {1e-3, " ms"}, {1, " s"}, {60, " min"}, {3600, " h"}, {86400, " d"}}
	case "bytes":
		return []scale{{1, " B"}, {1 << 10, " KiB"}, {1 << 20, " MiB"}, {1 << 30, " GiB"}}
	case "percentunit":
		return []scale{{0.01, "%"}}
	case "reqps":
		return []scale{{1, " req/s"}}
	case "short":
		return []scale{{1, ""}, {1e3, " K"}, {1e6, " Mil"}}
	default:
		return []scale{{1, ""}}
	}
}

// of returns the scale of a value: the largest in which the value is at least one.
func of(v float64, unit string) scale {
	all := scales(unit)
	chosen := all[0]
	for _, s := range all {
		if math.Abs(v) >= s.per {
			chosen = s
		}
	}
	if v == 0 {
		for _, s := range all {
			if s.per == 1 {
				return s
			}
		}
	}
	return chosen
}

// number formats a value in its unit, with the given decimals or else with three significant
// digits, and at most four decimals.
func number(v float64, unit string, decimals *int) string {
	if math.IsNaN(v) {
		return "no value"
	}
	s := of(v, unit)
	v /= s.per
	places := max(0, 2-int(math.Floor(math.Log10(max(math.Abs(v), 1e-9)))))
	if decimals != nil {
		places = *decimals
	}
	text := strconv.FormatFloat(v, 'f', min(places, 4), 64)
	if decimals == nil && strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	if text == "-0" {
		text = "0"
	}
	return text + s.symbol
}
