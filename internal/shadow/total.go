package shadow

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Total is the sum over models.
type Total struct {
	Hours   float64 `json:"hours"` // the sum of all models
	Ran     Side    `json:"ran"`
	Decided Side    `json:"decided"`
}

// Sum adds models up. Its regret is that of the models with a known one, unknown where there is
// none.
func Sum(models []Model) Total {
	var t Total
	for _, m := range models {
		t.Hours += m.Hours
		t.Ran, t.Decided = t.Ran.and(m.Ran), t.Decided.and(m.Decided)
	}
	return t
}

// and returns the sum of two sides.
func (s Side) and(o Side) Side {
	return Side{
		ReplicaHours: s.ReplicaHours + o.ReplicaHours, GPUHours: s.GPUHours + o.GPUHours, Cost: s.Cost + o.Cost,
		Measured: Share{s.Measured.Requests + o.Measured.Requests, s.Measured.Within + o.Measured.Within},
		Expected: Share{s.Expected.Requests + o.Expected.Requests, s.Expected.Within + o.Expected.Within},
		Regret:   Value{s.Regret.Known || o.Regret.Known, s.Regret.Value + o.Regret.Value},
	}
}

// Sentence says how the decisions differ from what ran.
func (t Total) Sentence() string {
	text := fmt.Sprintf("Beside what ran, the decisions take %s and %s", against(t.Decided.GPUHours, t.Ran.GPUHours, gpuHours), against(t.Decided.Cost, t.Ran.Cost, "cost"))
	ran, known := t.Ran.Expected.Part()
	if decided, both := t.Decided.Expected.Part(); known && both {
		text += fmt.Sprintf("; %.2f %% of the requests are expected within their objectives, with what ran %.2f %%", 100*decided, 100*ran)
	}
	return text + "."
}

const gpuHours = "GPU hours"

// against says by how much of differs from from: "12.0 % less cost".
func against(of, from float64, what string) string {
	less := "less"
	if what == gpuHours {
		less = "fewer"
	}
	part := 100 * (of/from - 1)
	switch {
	case of == from || math.Abs(part) < 0.05:
		return "the same " + what
	case from <= 0:
		return fmt.Sprintf("%.1f more %s", of, what)
	case part < 0:
		return fmt.Sprintf("%.1f %% %s %s", -part, less, what)
	}
	return fmt.Sprintf("%.1f %% more %s", part, what)
}

// Greatest returns the differences of all models, the greatest first, at most Most.
func Greatest(models []Model) []Difference {
	var all []Difference
	for _, m := range models {
		all = append(all, m.Differ...)
	}
	return greatest(all)
}

// greatest returns the Most greatest differences, by cost, then by GPU hours.
func greatest(all []Difference) []Difference {
	slices.SortFunc(all, func(a, b Difference) int {
		return cmp.Or(cmp.Compare(math.Abs(b.Cost), math.Abs(a.Cost)), cmp.Compare(math.Abs(b.GPUs), math.Abs(a.GPUs)), a.At.Compare(b.At), a.Variant.Compare(b.Variant))
	})
	return all[:min(Most, len(all))]
}
