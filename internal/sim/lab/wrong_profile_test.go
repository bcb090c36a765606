package lab

import (
	"strings"
	"testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

func TestProfilesAreMadeWrong(t *testing.T) {
	measured := scaling.Profile{Source: "m", Alpha: 1, Beta: 2, Gamma: 3, Delta: 4, MaxBatchSize: 5}
	for value, want := range map[string]scaling.Profile{
		"scenario": measured,
		"none":     {},
		"0.5":      {Source: "m", Alpha: 0.5, Beta: 1, Gamma: 1.5, Delta: 2, MaxBatchSize: 5},
		"2*beta":   {Source: "m", Alpha: 1, Beta: 4, Gamma: 3, Delta: 4, MaxBatchSize: 5},
		"3*delta":  {Source: "m", Alpha: 1, Beta: 2, Gamma: 3, Delta: 12, MaxBatchSize: 5},
	} {
		c := Choice{Name: Hybrid, Params: map[string]string{profiles: value}}
		if _, err := parseOwn(c); err != nil {
			t.Errorf("profiles=%s: %v", value, err)
			continue
		}
		states, err := c.states()
		if err != nil || states(measured) != want {
			t.Errorf("profiles=%s states %+v (%v), want %+v", value, states(measured), err, want)
		}
	}
	for _, value := range []string{"0", "-1", "101", "NaN", "2*", "2*alpha*beta", "x", "2*epsilon"} {
		_, err := parseOwn(Choice{Name: Hybrid, Params: map[string]string{profiles: value}})
		if err == nil || !strings.Contains(err.Error(), "found "+`"`+value+`"`) || !strings.Contains(err.Error(), "2*beta") {
			t.Errorf("profiles=%s: %v, want it refused with what is accepted", value, err)
		}
	}
}
