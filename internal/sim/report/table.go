package report

import (
	"strconv"
	"strings"
)

// column is one measure in the table.
type column struct {
	Name, Unit, Help string
	read             func(Measures) Spread
	write            func(float64) string
}

// columns returns the measures in the order of the table.
func columns() []column {
	return []column{
		{"Attainment", "", "requests that met both objectives, of all that arrived", func(m Measures) Spread { return m.Attainment }, percent},
		{"Cost", "cost units", "replicas from a node taken to a node freed, times their cost per hour", func(m Measures) Spread { return m.Cost }, number},
		{"Goodput", "requests/s", "requests that met both objectives", func(m Measures) Spread { return m.Goodput }, number},
		{"In violation", "", "part of the time in which too few requests met their objectives", func(m Measures) Spread { return m.Violation }, percent},
		{"TTFT p50", "", "time to first token, from arrival; finished requests", func(m Measures) Spread { return m.TTFTP50 }, latency},
		{"TTFT p90", "", "time to first token, from arrival; finished requests", func(m Measures) Spread { return m.TTFTP90 }, latency},
		{"TTFT p99", "", "time to first token, from arrival; finished requests", func(m Measures) Spread { return m.TTFTP99 }, latency},
		{"ITL p50", "", "inter-token latency, mean over a request; finished requests", func(m Measures) Spread { return m.ITLP50 }, latency},
		{"ITL p90", "", "inter-token latency, mean over a request; finished requests", func(m Measures) Spread { return m.ITLP90 }, latency},
		{"ITL p99", "", "inter-token latency, mean over a request; finished requests", func(m Measures) Spread { return m.ITLP99 }, latency},
		{"Replica-hours", "", "from a node taken to a node freed", func(m Measures) Spread { return m.ReplicaHours }, number},
		{"Scale events", "", "times that replicas were added or removed", func(m Measures) Spread { return m.ScaleEvents }, number},
		{"Cold starts", "", "times that the model grew while no replica of it was ready", func(m Measures) Spread { return m.ColdStarts }, number},
		{"Failed", "requests", "did not finish: rejected, expired, lost, or still under way at the end", func(m Measures) Spread { return m.Failed }, number},
		{"Lost", "requests", "with a replica that was removed", func(m Measures) Spread { return m.Lost }, number},
	}
}

// cell is the text of one measure of one policy.
type cell struct {
	Text  string // the mean
	Range string // from the least to the greatest; "" if the runs do not differ
	Sort  string // the mean as a plain number; "" if unknown
}

func (c column) cell(m Measures) cell {
	s := c.read(m)
	if !s.Known() {
		return cell{Text: absent}
	}
	out := cell{Text: c.write(s.Mean), Sort: strconv.FormatFloat(s.Mean, 'g', -1, 64)}
	if s.wide() {
		if low, high := c.write(s.Low), c.write(s.High); low != high {
			out.Range = between(low, high)
		}
	}
	return out
}

// between writes a range. If both ends have the same unit, it leaves the unit out, which stands
// above.
func between(low, high string) string {
	a, unit, _ := strings.Cut(low, space)
	if b, same, _ := strings.Cut(high, space); unit == same {
		return a + "–" + b
	}
	return low + "–" + high
}

// row is one policy in the table.
type row struct {
	Name, About, Unfinished string
	Own, Meets              bool
	Cells                   []cell
}

func rows(ranked []Result, o Objectives) []row {
	out := make([]row, len(ranked))
	for i, p := range ranked {
		out[i] = row{Name: p.Name, About: p.About, Unfinished: p.Unfinished, Own: p.Own, Meets: o.outcome(p) == meets}
		for _, c := range columns() {
			out[i].Cells = append(out[i].Cells, c.cell(p.Measures))
		}
	}
	return out
}
