package report

import (
	"strings"
	"testing"
)

// breakable is a text with ordinary spaces before its units.
func breakable(text string) string { return strings.ReplaceAll(text, space, " ") }

func measured(name string, isOwn bool, attainment, cost float64) Result {
	return Result{Name: name, Own: isOwn, Samples: []Sample{{}}, Measures: Measures{Attainment: SpreadOf(attainment), Cost: SpreadOf(cost)}}
}

func TestVerdictSaysWhoWins(t *testing.T) {
	target := Objectives{TTFT: 500, Attainment: 0.9}
	foresight := Clairvoyant{Cost: SpreadOf(20), Attainment: SpreadOf(0.91)}
	tests := map[string]struct {
		policies []Result
		bound    Clairvoyant
		want     string
	}{
		"ours is cheaper": {
			[]Result{measured("ours", true, 0.943, 30), measured("dear", false, 0.99, 60), measured("peer", false, 0.92, 40), measured("bad", false, 0.5, 1)},
			foresight,
			"ours reaches the target: 94.3 % of the requests within their objectives (90 % asked for) at a cost of 30, 25 % less than peer, the cheapest of the others that reach it. That is 1.5 times the cost of the best schedule that was found by knowing every arrival.",
		},
		"ours is dearer": {
			[]Result{measured("ours", true, 0.95, 50), measured("peer", false, 0.92, 40)},
			Clairvoyant{},
			"ours reaches the target: 95 % of the requests within their objectives (90 % asked for) at a cost of 50, 25 % more than peer, the cheapest of the others that reach it.",
		},
		"ours is dearer within the error": {
			[]Result{
				measured("ours", true, 0.95, 42),
				{Name: "peer", Samples: []Sample{{}}, Measures: Measures{Attainment: SpreadOf(0.92, 0.92), Cost: SpreadOf(38, 42)}},
			},
			Clairvoyant{},
			"ours reaches the target: 95 % of the requests within their objectives (90 % asked for) at a cost of 42, as much, within the error, as peer, the cheapest of the others that reach it.",
		},
		"only ours gets there": {
			[]Result{measured("ours", true, 0.95, 50), measured("peer", false, 0.8, 4)},
			Clairvoyant{},
			"ours reaches the target: 95 % of the requests within their objectives (90 % asked for) at a cost of 50, and none of the others reaches it.",
		},
		"only a peer gets there": {
			[]Result{measured("ours", true, 0.8999, 50), measured("peer", false, 0.92, 40)},
			foresight,
			"ours misses the target: 89.9 % of the requests within their objectives (90 % asked for) at a cost of 50, while peer reaches it at 40.",
		},
		"no policy gets there": {
			[]Result{measured("ours", true, 0.6, 50), measured("peer", false, 0.7, 40)},
			foresight,
			"ours misses the target: 60 % of the requests within their objectives (90 % asked for) at a cost of 50, as do all others; peer comes to 70 % at 40.",
		},
		"ours did not finish": {
			[]Result{
				{Name: "ours", Own: true, Unfinished: "interrupted", Measures: Measures{Attainment: SpreadOf(1), Cost: SpreadOf(1)}},
				measured("peer", false, 0.92, 40),
			},
			Clairvoyant{},
			"peer reaches the target: 92 % of the requests within their objectives (90 % asked for) at a cost of 40.",
		},
		"nothing was measured": {[]Result{{Name: "ours", Own: true}}, foresight, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := breakable(verdict(ranked(test.policies, target), target, test.bound)); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestFewLinesAreDrawnAtFirst(t *testing.T) {
	target := Objectives{Attainment: 0.9}
	policies := ranked([]Result{
		measured("cheap and bad", false, 0.3, 1), measured("second", false, 0.95, 20), measured("ours", true, 0.5, 30),
		measured("third", false, 0.99, 25),
		{Name: "no samples", Own: true},
		measured("first", false, 0.92, 10),
	}, target)
	var names []string
	for i, draw := range drawn(policies) {
		if draw {
			names = append(names, policies[i].Name)
		}
	}
	if len(names) != 3 || names[0] != "first" || names[1] != "second" || names[2] != "ours" {
		t.Errorf("%q are drawn, want the first, the second and ours", names)
	}
}

func TestNumbersAreWrittenShort(t *testing.T) {
	tests := []struct{ got, want string }{
		{number(0), "0"},
		{number(12345.6), "12346"},
		{number(12.34), "12.3"},
		{number(1.234), "1.23"},
		{number(27.96), "28"},
		{number(0.01234), "0.0123"},
		{percent(0.943), "94.3 %"},
		{percent(0.8999), "89.9 %"},
		{percent(1), "100 %"},
		{percent(0), "0 %"},
		{latency(412), "412 ms"},
		{latency(12345), "12.3 s"},
		{latency(0.5), "0.5 ms"},
		{string(plain(1.5, 3)), "1.5"},
		{string(plain(100, 0)), "100"},
		{string(plain(2, 3)), "2"},
	}
	for _, test := range tests {
		if breakable(test.got) != test.want {
			t.Errorf("got %q, want %q", test.got, test.want)
		}
	}
}
