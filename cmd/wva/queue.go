package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/llm-d-incubation/workload-variant-autoscaler/pkg/analyzer"
)

// queueFlags are the flags of "wva queue".
type queueFlags struct {
	serviceModel              string
	alpha, beta, gamma, delta float64
	maxBatch, maxQueue        int
	inputTokens, outputTokens float64
	rates                     []float64
	ttft, itl, tps            float64
	correct                   bool
	percentile                float64
	output, svg               string
	plot                      bool
}

// The service models of --service-model.
const (
	modelFour  = "four"
	modelThree = "three"
)

func newQueueCommand() *cobra.Command {
	var f queueFlags
	command := &cobra.Command{
		Use:   "queue",
		Short: "Show the latency of one replica over the arrival rate, and the rate that targets allow",
		Long: `Queue answers for one replica under load: which TTFT and ITL follow from an
arrival rate (--rate), and which rate keeps targets for them (--ttft, --itl,
--tps). Times are in ms, rates in requests/s. Without --rate it shows the range
of rates that the replica can serve.

The replica computes up to --max-batch requests together, and --max-queue more
can wait. Its speed is what was measured of it:
  --service-model four   ITL = alpha + beta x concurrency
                         prefill = gamma + delta x input tokens x concurrency
  --service-model three  one step takes alpha, and beta for each token computed
                         and gamma for each token read from the KV cache

Numbers are those of the published versions, in their simplifications too: a TPS
target takes a tenth off the greatest rate whatever its value, a rate of 0 and a
batch of 1 without a queue are refused. --correct gives the correct values
instead, and the percentiles of TTFT.

The exit status is 0 with an answer; 1 where there is none, because a value is
out of its range or no rate keeps a target, with {"error":"..."} for -o json; 2
for bad usage.`,
		Example: `  # What a Llama 8B on an A100 allows with a TTFT of 500 ms and an ITL of 24 ms:
  wva queue --alpha 20.58 --beta 0.41 --gamma 5.2 --delta 0.1 --max-batch 64 \
    --input-tokens 128 --output-tokens 128 --ttft 500 --itl 24 --plot

  # The same replica at three rates, with the TTFT that 99 % of the requests keep:
  wva queue --alpha 20.58 --beta 0.41 --gamma 5.2 --delta 0.1 --max-batch 64 \
    --input-tokens 128 --output-tokens 128 --rate 2 --rate 6 --rate 8 --correct`,
		Args: noArguments,
		RunE: func(command *cobra.Command, _ []string) error { return f.run(command) },
	}
	f.register(command.Flags())
	return command
}

func (f *queueFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.serviceModel, "service-model", modelFour, "four (alpha, beta, gamma, delta) or three (alpha, beta, gamma)")
	flags.Float64Var(&f.alpha, "alpha", 0, "of the service model, `ms`")
	flags.Float64Var(&f.beta, "beta", 0, "of the service model, `ms` per concurrent request (four) or token (three)")
	flags.Float64Var(&f.gamma, "gamma", 0, "of the service model, `ms` (four) or ms per token (three)")
	flags.Float64Var(&f.delta, "delta", 0, "of the service model four, `ms` per input token and concurrent request")
	flags.IntVar(&f.maxBatch, "max-batch", 0, "`requests` that are computed together, at least 1")
	flags.IntVar(&f.maxQueue, "max-queue", 0, "`requests` that can wait beyond those (default: 10 x --max-batch)")
	flags.Float64Var(&f.inputTokens, "input-tokens", 0, "mean `tokens` of a prompt, 0 for none")
	flags.Float64Var(&f.outputTokens, "output-tokens", 0, "mean `tokens` of an answer, at least 1")
	flags.Float64SliceVar(&f.rates, "rate", nil, "arrival rate to show, `requests/s`; repeatable (default: the whole range)")
	flags.Lookup("rate").DefValue = "" // or the help would show an empty list as the default
	flags.Float64Var(&f.ttft, "ttft", 0, "target: TTFT in `ms`, 0 for none")
	flags.Float64Var(&f.itl, "itl", 0, "target: ITL in `ms`, 0 for none")
	flags.Float64Var(&f.tps, "tps", 0, "target: output `tokens/s` of this replica, 0 for none")
	flags.BoolVar(&f.correct, "correct", false, "correct values instead of the published ones, and percentiles of TTFT")
	flags.Float64Var(&f.percentile, "percentile", 0, "with --correct: --ttft and --itl are for this `share` of the requests, as 0.99, and not for their mean")
	flags.StringVarP(&f.output, "output", "o", "table", "table or json")
	flags.BoolVar(&f.plot, "plot", false, "draw TTFT and ITL over the rate, below the table")
	flags.StringVar(&f.svg, "svg", "", "write that picture to a `file`, as SVG")
}

// run prints the answer, or returns why there is none.
func (f *queueFlags) run(command *cobra.Command) error {
	changed := command.Flags().Changed
	if err := f.check(changed); err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	if !changed("max-queue") {
		f.maxQueue = analyzer.QueuePerBatch * f.maxBatch
	}
	out := command.OutOrStdout()
	replica, err := f.replica()
	var answer queueAnswer
	if err == nil {
		answer, err = f.answer(replica, changed)
	}
	if err != nil {
		err = f.explain(err)
		if f.output == "json" {
			// A program that reads the answer is told there.
			err = errors.Join(err, writeJSON(out, queueFailure{err.Error()}))
		}
		return err
	}
	if f.svg != "" {
		if err := f.writePicture(replica, answer); err != nil {
			return err
		}
	}
	if f.output == "json" {
		return writeJSON(out, answer)
	}
	if err := f.print(out, replica, answer); err != nil {
		return err
	}
	if f.plot {
		return f.printPlot(out, replica, answer)
	}
	return nil
}

// check returns an error for a wrong combination of flags; other functions check their values.
// changed reports which were given.
func (f *queueFlags) check(changed func(name string) bool) error {
	switch {
	case f.output != "table" && f.output != "json":
		return fmt.Errorf("--output %q: want table or json", f.output)
	case f.output == "json" && f.plot:
		return errors.New("--plot is for people: want it without -o json, or --svg")
	case changed("svg") && f.svg == "":
		return errors.New("--svg is empty: want a file")
	case changed("percentile") && !f.correct:
		return errors.New("--percentile needs --correct: the published versions know means only")
	case changed("percentile") && f.ttft == 0 && f.itl == 0:
		return errors.New("--percentile needs a target: --ttft, --itl or both")
	}
	return f.checkReplica(changed)
}

// checkReplica returns an error for missing or surplus flags that describe a replica.
func (f *queueFlags) checkReplica(changed func(name string) bool) error {
	required := []string{"alpha", "beta", "gamma", "delta", "max-batch", "input-tokens", "output-tokens"}
	switch {
	case f.serviceModel == modelThree && f.delta != 0:
		return fmt.Errorf("--delta %v: want none with --service-model three, which has no delta", f.delta)
	case f.serviceModel == modelThree:
		required = slices.DeleteFunc(required, func(name string) bool { return name == "delta" })
	case f.serviceModel != modelFour:
		return fmt.Errorf("--service-model %q: want %s or %s", f.serviceModel, modelFour, modelThree)
	}
	missing := slices.DeleteFunc(required, changed)
	if len(missing) > 0 {
		return fmt.Errorf("--%s: required, to describe the replica and its requests", strings.Join(missing, ", --"))
	}
	return nil
}

// replica returns the described replica. Its errors are *analyzer.InputError.
func (f *queueFlags) replica() (analyzer.QueueAnalyzer, error) {
	var service analyzer.ServiceModel = analyzer.FourParameter{Alpha: f.alpha, Beta: f.beta, Gamma: f.gamma, Delta: f.delta}
	if f.serviceModel == modelThree {
		service = analyzer.ThreeParameter{Alpha: f.alpha, Beta: f.beta, Gamma: f.gamma}
	}
	return analyzer.NewQueueAnalyzer(analyzer.Config{
		MaxBatch: f.maxBatch, MaxQueue: f.maxQueue, Service: service,
		Size: analyzer.RequestSize{InputTokens: f.inputTokens, OutputTokens: f.outputTokens},
	})
}
