package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/console"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/queueing/profile"
)

// about describes the source of the profile.
func (p profiled) about() string {
	windows := fmt.Sprintf("%.1f windows of its replicas", p.Samples)
	switch p.From {
	case profile.Nowhere:
		return "too little was seen to know anything, and no profile is stated"
	case profile.IsStated:
		return "what is stated, of its replicas nothing was seen"
	case profile.IsComputed:
		return p.Computed + "; of its replicas nothing was seen"
	case profile.IsShared:
		return "what replicas like its own showed " + p.namespaces() + "; of its own nothing was seen"
	case profile.LearnedAfterShared:
		return "learned from " + windows + ", beginning with what replicas like its own showed " + p.namespaces()
	case profile.IsLearned:
		return "learned from " + windows
	case profile.LearnedAfterStated:
		return "learned from " + windows + ", beginning with what is stated"
	case profile.LearnedAfterLike:
		return "learned from " + windows + ", beginning with what was learned of " + p.Like.Name
	case profile.LikeAnother:
		if p.Stated.Usable() {
			return "what is stated, off by as much as what is stated of " + p.Like.Name + " was; of its own replicas nothing was seen"
		}
		return "what was learned of " + p.Like.Name + ", of its own replicas nothing was seen"
	}
	return string(p.From)
}

// namespaces describes where similar replicas were measured.
func (p profiled) namespaces() string {
	if p.Namespaces == 1 {
		return "in another namespace"
	}
	return fmt.Sprintf("in the median of %d other namespaces", p.Namespaces)
}

// lengths describes the requests that the profile is for.
func (p profiled) lengths() string {
	return figure(math.Round(p.Prompt)) + " tokens of prompt to compute and " + figure(math.Round(p.Answer)) + " of answer"
}

// age returns the time since the last look, "-" for none.
func (p profiled) age(now time.Time) string {
	if p.At.IsZero() || p.Samples == 0 {
		return "-"
	}
	return max(0, now.Sub(p.At)).Round(time.Second).String()
}

// profileTable returns a table with a line for each variant.
func profileTable(all []profiled, now time.Time) console.Table {
	table := console.Table{Columns: []console.Column{
		console.Left("NAMESPACE"), console.Left("VARIANT"), console.Left("ACCELERATOR"), console.Left("FROM"), console.Right("WINDOWS"), console.Right("AGE"),
		console.Right("ITL ALONE, ms"), console.Right("90 %"), console.Right("CONCURRENCY"), console.Right("ITL, ms"), console.Right("90 %"),
	}}
	for _, p := range all {
		row := []string{p.Variant.Namespace, p.Variant.Name, p.Accelerator, string(p.From), fmt.Sprintf("%.1f", p.Samples), p.age(now)}
		if p.From != profile.Nowhere && p.Prompt > 0 {
			alone, full := p.ITL(1), p.ITL(p.reach())
			row = append(row, figure3(alone.Mean), between(alone), figure(p.reach()), figure3(full.Mean), between(full))
		}
		table.Rows = append(table.Rows, row)
	}
	return table
}

// reach returns the highest concurrency at which latencies are shown: the highest measured one, or
// a usual one for a variant without measurements.
func (p profiled) reach() float64 {
	const usual = 16
	if most := p.Highest(); most > 1 {
		return most
	}
	return usual
}

// between renders the bounds of an interval. A low bound below a hundredth of the high one is shown
// as 0.
func between(i profile.Interval) string {
	low := figure3(i.Low)
	if i.Low < i.High/100 {
		low = "0"
	}
	return low + " to " + figure3(i.High)
}

// figure3 renders a number with three significant digits.
func figure3(v float64) string {
	if v < 1e-4 {
		return "0"
	}
	return figure(rounded(v, 3))
}

// print writes one variant as text.
func (p profiled) print(out io.Writer, now time.Time) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s on %s\n", p.Variant, p.Model.ID, accelerators(p))
	fmt.Fprintf(&b, "  from      %s\n", p.about())
	if p.Samples > 0 {
		fmt.Fprintf(&b, "  age       the last look was %s ago\n", p.age(now))
	}
	if p.Prompt > 0 {
		fmt.Fprintf(&b, "  requests  %s, in the mean\n", p.lengths())
	}
	for _, m := range p.Missing {
		fmt.Fprintf(&b, "  missing   %s\n", m)
	}
	if p.Refuted != "" {
		fmt.Fprintf(&b, "  not used  %s\n", p.Refuted)
	}
	for _, d := range p.Doubts {
		fmt.Fprintf(&b, "  doubt     %s\n", d)
	}
	if len(p.Coefficients) > 0 {
		b.WriteString("\nstep = a + b x requests + d x tokens of prompts;  TTFT = c + e x step + f x tokens of the prompt\n\n")
		write(&b, p.coefficients())
	}
	if len(p.Bands) > 0 {
		b.WriteString("\nWhat was measured, beside what the coefficients come to:\n\n")
		write(&b, p.bands())
	}
	if _, err := io.WriteString(console.Visible(out), b.String()); err != nil {
		return err
	}
	if p.From == profile.Nowhere || !(p.Prompt > 0) {
		return nil
	}
	picture, err := p.picture()
	if err != nil {
		return err
	}
	if err := drawPlot(out, picture); err != nil {
		return err
	}
	return p.printProfile(out)
}

func accelerators(p profiled) string {
	name := p.Accelerator
	if name == "" {
		name = "an accelerator that is not known"
	}
	if p.Accelerators > 1 {
		return fmt.Sprintf("%d x %s", p.Accelerators, name)
	}
	return name
}

func write(b *strings.Builder, table console.Table) {
	b.WriteString(strings.Join(table.Lines(), "\n") + "\n")
}

func (p profiled) coefficients() console.Table {
	table := console.Table{Columns: []console.Column{
		console.Left(""), console.Right("VALUE"), console.Right("90 % INTERVAL"), console.Left("UNIT"), console.Left("OF"),
	}}
	for _, c := range p.Coefficients {
		table.Rows = append(table.Rows, []string{c.Name, figure3(c.Mean), between(c.Interval), c.Unit, c.Meaning})
	}
	return table
}

func (p profiled) bands() console.Table {
	table := console.Table{Columns: []console.Column{
		console.Left("CONCURRENCY"), console.Right("WINDOWS"), console.Right("MEAN"), console.Right("ITL ms"), console.Right("FIT"), console.Right("OFF"), console.Right("SCATTER"),
		console.Right("TTFT ms"), console.Right("FIT"), console.Right("OFF"), console.Right("SCATTER"),
	}}
	for _, band := range p.Bands {
		name := fmt.Sprintf("%.0f to %.0f", band.From, band.To)
		if band.Overload {
			name = "in overload"
		}
		row := []string{name, fmt.Sprintf("%.1f", band.ITL.Samples), fmt.Sprintf("%.1f", band.Concurrency)}
		for _, of := range []profile.Fitted{band.ITL, band.TTFT} {
			if of.Samples > 0 {
				row = append(row, fmt.Sprintf("%.1f", of.Measured), fmt.Sprintf("%.1f", of.Fit), fmt.Sprintf("%+.1f %%", 100*of.Off), fmt.Sprintf("%.1f %%", 100*of.Scatter))
			}
		}
		table.Rows = append(table.Rows, row)
	}
	return table
}

// printProfile writes the profile beside the stated one.
func (p profiled) printProfile(out io.Writer) error {
	table := console.Table{Columns: []console.Column{console.Left(""), console.Right("FIT"), console.Right("90 % INTERVAL")}}
	stated := p.Stated.Usable()
	if stated {
		table.Columns = append(table.Columns, console.Right("STATED"), console.Right("FIT / STATED"))
	}
	add := func(name string, fit float64, interval string, says float64) {
		row := []string{name, figure3(fit), interval}
		if stated {
			row = append(row, figure3(says), "-")
			if says > 0 {
				row[4] = fmt.Sprintf("%.2f", fit/says)
			}
		}
		table.Rows = append(table.Rows, row)
	}
	add("alpha, ms", p.Profile.Alpha, "", p.Stated.Alpha)
	add("beta, ms/request", p.Profile.Beta, "", p.Stated.Beta)
	add("gamma, ms", p.Profile.Gamma, "", p.Stated.Gamma)
	add("delta, ms/token/request", p.Profile.Delta, "", p.Stated.Delta)
	for _, n := range p.stops() {
		itl := p.ITL(n)
		add(fmt.Sprintf("ITL at %s, ms", figure(n)), itl.Mean, between(itl), p.Stated.Alpha+p.Stated.Beta*n)
	}
	for _, n := range p.stops() {
		ttft := p.TTFT(n)
		add(fmt.Sprintf("TTFT at %s, ms", figure(n)), ttft.Mean, between(ttft), p.Stated.Gamma+p.Stated.Delta*p.Prompt*n)
	}
	beside := ""
	if stated {
		beside = ", beside " + p.Stated.Source
	}
	_, err := fmt.Fprintf(out, "\nAs a profile for requests of these lengths%s (-o yaml prints it):\n\n%s\n\nAs flags: wva queue %s\n",
		beside, strings.Join(table.Lines(), "\n"), p.queueArguments())
	return err
}

// stops returns concurrencies from 1 in steps of a factor of 4, and then the highest one.
func (p profiled) stops() []float64 {
	var out []float64
	for n := 1.0; n < p.reach(); n *= 4 {
		out = append(out, n)
	}
	return slices.Clip(append(out, p.reach()))
}
