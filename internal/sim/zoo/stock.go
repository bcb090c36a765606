package zoo

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/serving"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/lab"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/workload"
)

// Stock holds the replicas and traces that cases are drawn from.
type Stock struct {
	Replicas []Replica // one or more
	Traces   []lab.Record
	// Requests is about the largest number of requests of a case; 0 means MaxRequests.
	Requests int
}

// Replica is one measured way to serve a model.
type Replica struct {
	Profile serving.Profile // named after the model, the accelerators and the engine
	Model   string          // that it serves
	GPUs    scaling.Accelerators
	Cost    float64 // per hour
}

// family returns the name of the model without owner, quantization and kind: variants of one family
// may serve the same model.
func (r Replica) family() string {
	name := strings.ToLower(r.Model[strings.LastIndex(r.Model, "/")+1:])
	for _, cut := range []string{"-fp8", "-quantized", "-instruct", "-hf"} {
		name, _, _ = strings.Cut(name, cut)
	}
	return name
}

// open returns a trace by its name.
func (s Stock) open(name string) (lab.Record, error) {
	i := slices.IndexFunc(s.Traces, func(r lab.Record) bool { return r.Name == name })
	if i < 0 {
		return lab.Record{}, fmt.Errorf("%s: %w", name, os.ErrNotExist)
	}
	return s.Traces[i], nil
}

// lengthsOf returns the lengths of the requests of a log.
func lengthsOf(requests []workload.Request) Lengths {
	const sample = 5000
	every := len(requests)/sample + 1
	var input, output, both []float64
	var l Lengths
	for i := 0; i < len(requests); i += every {
		in, out := float64(requests[i].InputTokens), float64(requests[i].OutputTokens)
		input, output, both = append(input, in), append(output, out), append(both, in+out)
		l.Input, l.Output = l.Input+in, l.Output+out
	}
	n := float64(len(both))
	l.Input, l.Output = l.Input/n, l.Output/n
	l.LongInput, l.LongOutput, l.Longest = quantile(input, 0.99), quantile(output, 0.99), quantile(both, 0.999)
	return l
}

// chat returns the lengths of generated requests, by workload.ChatLengths.
func chat(input, output float64) Lengths {
	l, err := workload.ChatLengths(input, output)
	if err != nil {
		panic("zoo: lengths out of range: " + err.Error())
	}
	long := func(one workload.Length, q float64) float64 {
		if spread, ok := one.(workload.Lognormal); ok {
			return spread.Quantile(q)
		}
		return one.Mean()
	}
	return Lengths{
		Input: input, Output: output, LongInput: long(l.Input, 0.99), LongOutput: long(l.Output, 0.99),
		Longest: long(l.Input, 0.999) + long(l.Output, 0.999),
	}
}

// with returns the lengths of two workloads side by side, with equal rates.
func (l Lengths) with(o Lengths) Lengths {
	return Lengths{
		Input: (l.Input + o.Input) / 2, Output: (l.Output + o.Output) / 2, LongInput: max(l.LongInput, o.LongInput),
		LongOutput: max(l.LongOutput, o.LongOutput), Longest: max(l.Longest, o.Longest),
	}
}

func quantile(values []float64, q float64) float64 {
	slices.Sort(values)
	return values[min(len(values)-1, int(q*float64(len(values))))]
}

// rates returns the mean rate of a stretch of a record, requests/s, in bins of ten minutes, or one
// bin if the stretch is shorter.
func rates(r lab.Record, from, length time.Duration) []float64 {
	bin := min(10*time.Minute, length)
	bins := make([]float64, (length+bin-1)/bin)
	span := r.Span()
	add := func(at time.Duration, n float64) { bins[min(int(at/bin), len(bins)-1)] += n }
	for begin := -from % span; begin < length; begin += span {
		for _, one := range r.Requests {
			if at := one.At + begin; at >= 0 && at < length {
				add(at, 1)
			}
		}
		if r.Requests == nil {
			const step = time.Minute
			for at := max(0, begin); at < min(length, begin+span); at += step {
				add(at, r.Curve.RateAt(at-begin)*step.Seconds())
			}
		}
	}
	for i := range bins {
		bins[i] /= bin.Seconds()
	}
	return bins
}
