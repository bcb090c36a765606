package query_test

import (
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/goldentest"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
)

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Hour:                       "1s",
		0:                                "1s",
		500 * time.Millisecond:           "1s",
		1999 * time.Millisecond:          "1s",
		30 * time.Second:                 "30s",
		90 * time.Second:                 "90s",
		time.Minute:                      "1m",
		5400 * time.Second:               "90m",
		time.Hour:                        "1h",
		time.Hour + time.Second:          "3601s",
		36 * time.Hour:                   "36h",
		48 * time.Hour:                   "2d",
		7 * 24 * time.Hour:               "7d",
		5*time.Minute + time.Millisecond: "5m",
	} {
		if got := query.Duration(d); got != want {
			t.Errorf("%s: got %s, want %s", d, got, want)
		}
	}
}

func TestGoldenDuration(t *testing.T) {
	for _, c := range goldentest.Read[struct{ Seconds float64 }, struct{ PromDuration string }](t, "promdur-feb") {
		d := time.Duration(c.Inputs.Seconds * float64(time.Second))
		if got := query.Duration(d); got != c.Expected.PromDuration {
			t.Errorf("%s: got %s, want %s", c.ID, got, c.Expected.PromDuration)
		}
	}
}
