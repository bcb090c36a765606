package lab

import (
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim"
)

// stride is the length of a Bin of a run, and the step by which the worst hour slides.
const stride = 10 * time.Minute

// enough is the number of requests from which an hour is judged: with fewer, chance moves the
// attainment by more than 1.5 points, at 95 %.
const enough = 200

// worstHour returns the least attainment of an hour, over the requests of all models that arrived
// in it. Hours slide by ten minutes; those with fewer than 200 requests do not count. If no hour
// counts, it returns the attainment of all requests.
func worstHour(models []sim.ModelReport) float64 {
	const hours = int(time.Hour / stride)
	var bins []sim.Bin
	for _, m := range models {
		for i, b := range m.Bins {
			if i == len(bins) {
				bins = append(bins, sim.Bin{})
			}
			bins[i].Arrived += b.Arrived
			bins[i].Met += b.Met
		}
	}
	var hour, all sim.Bin
	worst, found := 1.0, false
	for i, b := range bins {
		hour.Arrived, hour.Met = hour.Arrived+b.Arrived, hour.Met+b.Met
		all.Arrived, all.Met = all.Arrived+b.Arrived, all.Met+b.Met
		if i >= hours {
			hour.Arrived, hour.Met = hour.Arrived-bins[i-hours].Arrived, hour.Met-bins[i-hours].Met
		}
		if i >= hours-1 && hour.Arrived >= enough {
			worst, found = min(worst, float64(hour.Met)/float64(hour.Arrived)), true
		}
	}
	if !found && all.Arrived > 0 {
		return float64(all.Met) / float64(all.Arrived)
	}
	return worst
}
