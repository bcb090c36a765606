package day

import (
	"iter"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/workload"
)

// The model and its only variant.
const (
	Namespace   = "day"
	Model       = "meta/llama-3.1-70b"
	Variant     = "llama-70b-a100"
	Profile     = "llama-70b-a100" // of the emulator
	Accelerator = "A100"
	Cost        = 25 // cost units per replica-hour
	Most        = 8  // replicas
)

// The objectives of each request, and the share of the requests that is to meet both.
const (
	TTFT  = time.Second
	ITL   = 45 * time.Millisecond
	Share = 0.95
)

// The mean lengths of requests, in tokens, spread as in chat.
const (
	inputTokens  = 200
	outputTokens = 200
)

// Day is the compressed day.
type Day struct {
	Length time.Duration // > 0
}

// low, noon and high are rates in requests/s: at night, at noon, and at the peak.
const (
	low  = 0.4
	noon = 2.4
	high = 3.6
)

// Rates returns the arrival rate over the day.
func (d Day) Rates() (workload.Profile, error) {
	hours := func(n float64) time.Duration {
		return time.Duration(n / 24 * float64(d.Length)).Round(time.Millisecond)
	}
	return workload.NewProfile(
		workload.Constant{Rate: low, Duration: hours(4)},
		workload.Ramp{From: low, To: 3, Duration: hours(5)},
		workload.Constant{Rate: 3, Duration: hours(2)},
		workload.Ramp{From: 3, To: noon, Duration: hours(1)},
		workload.Ramp{From: noon, To: high, Duration: hours(2)},
		workload.Constant{Rate: high, Duration: hours(3)},
		workload.Ramp{From: high, To: low, Duration: hours(4)},
		workload.Constant{Rate: low, Duration: hours(3)},
	)
}

// Requests draws the requests of one such day.
func (d Day) Requests(seed uint64) (iter.Seq2[workload.Request, error], error) {
	rates, err := d.Rates()
	if err != nil {
		return nil, err
	}
	lengths, err := workload.ChatLengths(inputTokens, outputTokens)
	if err != nil {
		return nil, err
	}
	return workload.WithoutError(workload.Generate(rates, lengths, rand.New(rand.NewPCG(seed, 0)))), nil
}

// speed is the profile of a replica that the variant states, measured on the emulated profile with
// prompts of 200 tokens. The coefficients are in ms.
var speed = struct {
	alpha, beta, gamma, delta float64
	batch                     int
}{35, 0.83, 77, 0.013, 32}

// Entry returns the default entry of the saturation ConfigMap: the engine, and the share of the
// requests that is to meet the objectives.
func Entry() map[string]any {
	return map[string]any{"engine": "hybrid", "ttftPercentile": Share, "itlPercentile": Share}
}

// Class returns the service class of the model.
func Class() map[string]any {
	return map[string]any{"name": "chat", "priority": 1, "data": []any{
		map[string]any{"model": Model, "slo-ttft": TTFT.Milliseconds(), "slo-tpot": ITL.Milliseconds()},
	}}
}

// Values returns the entry of the model in the values of the chart: its VariantAutoscaling, and the
// HorizontalPodAutoscaler that follows it.
func Values() map[string]any {
	text := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	return map[string]any{"modelID": Model, "namespace": Namespace, "variants": []any{map[string]any{
		"name": Variant, "accelerator": Accelerator, "cost": text(Cost), "minReplicas": 1, "maxReplicas": Most,
		"profile": map[string]any{"maxBatchSize": speed.batch, "perfParms": map[string]any{
			"decodeParms":  map[string]any{"alpha": text(speed.alpha), "beta": text(speed.beta)},
			"prefillParms": map[string]any{"gamma": text(speed.gamma), "delta": text(speed.delta)},
		}},
	}}}
}
