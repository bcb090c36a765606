package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/console"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/loadgen"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/workload"
)

// loadFlags are the flags of "wva load".
type loadFlags struct {
	url, model                string
	profile                   string
	rate                      float64
	duration                  time.Duration
	trace                     string
	timeScale                 float64
	lengths                   string
	inputTokens, outputTokens int
	seed                      uint64
	sloTTFT, sloITL           time.Duration
	maxInFlight               int
	timeout                   time.Duration
	output                    string
	quiet                     bool
}

func newLoadCommand() *cobra.Command {
	var f loadFlags
	command := &cobra.Command{
		Use:   "load --url URL --model ID",
		Short: "Send a workload to an OpenAI compatible endpoint and measure TTFT, ITL and attainment",
		Long: `Load sends completion requests open loop: each at its time, whether or not
earlier ones were answered. It ends with what the users of the endpoint saw.

A profile is a list of segments with rates in requests/s:
  constant(8,60s)  ramp(0.5->8,60s)  step(1->8,20s,60s)
  sine(1->8,30s,120s)  gamma(8,60s,cv=3)

Lengths are those of chat (a clamped lognormal) with the means --input-tokens
and --output-tokens, or exactly these with --lengths constant. A trace is a CSV
with the columns arrival_s, input_tokens and output_tokens.

The exit status is 0 when the load ran, 1 when nothing was sent or everything
failed, 2 for bad usage. Ctrl-C ends early, with the summary so far.`,
		Example: `  wva load --url http://127.0.0.1:8000 --model meta/llama-3.1-8b --rate 4 --duration 2m
  wva load --url http://127.0.0.1:8000 --model meta/llama-3.1-8b \
    --profile 'ramp(0.5->8,60s),constant(8,60s),ramp(8->0.5,30s)' --input-tokens 200 --output-tokens 200
  wva load --url http://127.0.0.1:8000 --model meta/llama-3.1-8b --trace azure.csv --time-scale 10`,
		Args: noArguments,
		RunE: func(command *cobra.Command, _ []string) error { return f.run(command) },
	}
	flags := command.Flags()
	flags.StringVar(&f.url, "url", "", "base of the endpoint, to which /v1/completions is appended")
	flags.StringVar(&f.model, "model", "", "ID of the model, as the endpoint knows it")
	flags.StringVar(&f.profile, "profile", "", "arrival rate over time, such as 'ramp(1->8,60s),constant(8,60s)'")
	flags.Float64Var(&f.rate, "rate", 0, "one arrival rate, requests/s, with --duration")
	flags.DurationVar(&f.duration, "duration", 0, "how long --rate lasts")
	flags.StringVar(&f.trace, "trace", "", "CSV `file` to replay, - for standard input")
	flags.Float64Var(&f.timeScale, "time-scale", 1, "replay speed of --trace: 2 is twice as fast")
	flags.StringVar(&f.lengths, "lengths", "chat", "lengths of requests: chat or constant")
	flags.IntVar(&f.inputTokens, "input-tokens", 161, "mean length of prompts, tokens")
	flags.IntVar(&f.outputTokens, "output-tokens", 338, "mean length of answers, tokens")
	flags.Uint64Var(&f.seed, "seed", 0, "makes arrivals, lengths and prompts repeatable; drawn and printed if not given")
	flags.DurationVar(&f.sloTTFT, "slo-ttft", 500*time.Millisecond, "objective for the time to first token, 0 for none")
	flags.DurationVar(&f.sloITL, "slo-itl", 50*time.Millisecond, "objective for a request's mean inter-token latency, 0 for none")
	flags.IntVar(&f.maxInFlight, "max-in-flight", loadgen.DefaultMaxInFlight, "requests under way at once; more are not sent and count as errors")
	flags.DurationVar(&f.timeout, "timeout", loadgen.DefaultTimeout, "of one request, to the end of its stream")
	flags.StringVarP(&f.output, "output", "o", "table", "format of the summary: table or json")
	flags.BoolVar(&f.quiet, "quiet", false, "no progress while running")
	return command
}

// run sends the load. It prints the summary to the command's output, and progress to its error
// output.
func (f *loadFlags) run(command *cobra.Command) error {
	if !command.Flags().Changed("seed") {
		f.seed = uint64(rand.Uint32())
	}
	if err := f.check(command.Flags().Changed); err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	load, closeLoad, err := f.open(command.InOrStdin())
	if err != nil {
		return err
	}
	defer closeLoad()
	options := loadgen.Options{
		URL: f.url, Model: f.model, Seed: f.seed, Duration: load.duration,
		SLO:         loadgen.SLO{TTFT: f.sloTTFT, ITL: f.sloITL},
		MaxInFlight: f.maxInFlight, Timeout: f.timeout,
	}
	if err := options.Validate(); err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	finish := func() {}
	if !f.quiet {
		finish = showLoad(command.ErrOrStderr(), load, &options)
	}
	summary, runErr := loadgen.Run(command.Context(), load.requests, options)
	finish()
	if runErr == nil || summary.Requests > 0 {
		if err := f.print(command.OutOrStdout(), load, summary); err != nil {
			return err
		}
	}
	switch {
	case runErr != nil:
		return fmt.Errorf("load of %s: %w", load.name, runErr)
	case summary.Requests == 0:
		return fmt.Errorf("load of %s: nothing was sent, for it has no arrivals in this time", load.name)
	case summary.Completed == 0 && summary.Interrupted == 0:
		return errFinding
	}
	return nil
}

// check returns an error for wrong flags; changed reports which were given.
func (f *loadFlags) check(changed func(name string) bool) error {
	switch {
	case f.url == "" && f.model == "":
		return errors.New("--url and --model are missing")
	case f.url == "":
		return errors.New("--url is missing")
	case f.model == "":
		return errors.New("--model is missing")
	case f.output != "table" && f.output != "json":
		return fmt.Errorf("--output %q, want table or json", f.output)
	case f.lengths != "chat" && f.lengths != "constant":
		return fmt.Errorf("--lengths %q, want chat or constant", f.lengths)
	case f.maxInFlight < 1:
		return fmt.Errorf("--max-in-flight %d, want 1 or more", f.maxInFlight)
	case f.timeout <= 0:
		return fmt.Errorf("--timeout %s, want more than 0", f.timeout)
	}
	return f.checkSource(changed)
}

// checkSource returns an error for wrong flags about the requests to send.
func (f *loadFlags) checkSource(changed func(name string) bool) error {
	switch {
	case changed("profile") && f.profile == "":
		return errors.New("--profile is empty")
	case changed("trace") && f.trace == "":
		return errors.New("--trace is empty")
	case changed("rate") != changed("duration"):
		return errors.New("--rate and --duration go together")
	case !(f.timeScale > 0):
		return fmt.Errorf("--time-scale %g, want more than 0", f.timeScale)
	}
	given := slices.DeleteFunc([]string{"profile", "rate", "trace"}, func(name string) bool { return !changed(name) })
	if len(given) != 1 {
		return fmt.Errorf("want one of --profile, --rate with --duration, and --trace; have %d", len(given))
	}
	for _, name := range []string{"lengths", "input-tokens", "output-tokens"} {
		if given[0] == "trace" && changed(name) {
			return fmt.Errorf("--%s has no place beside --trace, which has lengths of its own", name)
		}
	}
	if given[0] != "trace" && changed("time-scale") {
		return errors.New("--time-scale needs --trace")
	}
	return nil
}

// loadSource is the workload to send.
type loadSource struct {
	name     string // the profile, or the file of the trace
	requests iter.Seq2[workload.Request, error]
	duration time.Duration // 0 is unknown
}

// open returns the workload of the flags, and a function to close it.
func (f *loadFlags) open(stdin io.Reader) (loadSource, func(), error) {
	if f.trace != "" {
		return f.openTrace(stdin)
	}
	flag := "--profile"
	profile, err := workload.ParseProfile(f.profile)
	if f.profile == "" {
		flag = "--rate, --duration"
		profile, err = workload.NewProfile(workload.Constant{Rate: f.rate, Duration: f.duration})
	}
	if err != nil {
		return loadSource{}, nil, fmt.Errorf("%w: %s: %w", errUsage, flag, err)
	}
	lengths, err := workload.ChatLengths(float64(f.inputTokens), float64(f.outputTokens))
	if f.lengths == "constant" {
		lengths, err = workload.ConstantLengths(f.inputTokens, f.outputTokens)
	}
	if err != nil {
		return loadSource{}, nil, fmt.Errorf("%w: %w", errUsage, err)
	}
	rng := rand.New(rand.NewPCG(f.seed, 0))
	return loadSource{
		name:     profile.String(),
		requests: workload.WithoutError(workload.Generate(profile, lengths, rng)),
		duration: profile.Duration(),
	}, func() {}, nil
}

func (f *loadFlags) openTrace(stdin io.Reader) (loadSource, func(), error) {
	options := workload.TraceOptions{TimeScale: f.timeScale}
	if f.trace == "-" {
		return loadSource{name: "standard input", requests: workload.ReadTrace(stdin, options)}, func() {}, nil
	}
	file, err := os.Open(f.trace)
	if err != nil {
		return loadSource{}, nil, fmt.Errorf("opening the trace: %w", err)
	}
	return loadSource{name: f.trace, requests: workload.ReadTrace(file, options)}, func() { file.Close() }, nil
}

// showLoad reports the progress of the run on w until the returned function is called.
func showLoad(w io.Writer, load loadSource, options *loadgen.Options) (finish func()) {
	terminal := console.Detect(w, os.Getenv)
	options.ProgressEvery = time.Second
	if !terminal.Interactive {
		options.ProgressEvery = 10 * time.Second
	}
	fmt.Fprintf(w, "sending %s, seed %d\n", load.name, options.Seed)
	live := console.NewLive(w, console.LiveOptions{Terminal: terminal})
	columns := []console.Column{
		console.Right("ELAPSED"), console.Right("RATE/s"), console.Right("IN FLIGHT"), console.Right("DONE"),
		console.Right("FAILED"), console.Right("TTFT ms"), console.Right("ITL ms"), console.Right("WITHIN SLO"),
	}
	var rates []float64
	options.Progress = func(p loadgen.Progress) {
		const width = 60 // of the sparkline: the last minute
		if p.Last.Duration >= options.ProgressEvery/2 {
			rates = append(rates, p.Last.Rate)
		}
		rates = rates[max(0, len(rates)-width):]
		elapsed := p.Elapsed.Round(time.Second).String()
		if load.duration > 0 {
			elapsed += " of " + load.duration.Round(time.Second).String()
		}
		row := []string{
			elapsed, fmt.Sprintf("%.1f", p.Last.Rate), fmt.Sprint(p.InFlight), fmt.Sprint(p.Completed),
			fmt.Sprint(p.Failed), loadMilliseconds(p.Last.TTFT, p.Last.Completed), loadMilliseconds(p.Last.ITL, p.Last.Completed), loadShare(p.Attainment, p.Judged),
		}
		footer := "rate " + console.Spark(rates, 0)
		if load.duration > 0 && p.Elapsed >= load.duration && p.InFlight > 0 {
			footer = fmt.Sprintf("all sent, waiting for %d answers", p.InFlight)
		}
		// A closed terminal must not end the load.
		_ = live.Update(columns, [][]string{row}, footer)
	}
	return func() { _ = live.Close() }
}

// print writes the summary in the chosen format.
func (f *loadFlags) print(w io.Writer, load loadSource, s loadgen.Summary) error {
	if f.output == "json" {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		err := encoder.Encode(struct {
			Workload string `json:"workload"`
			Seed     uint64 `json:"seed"`
			loadgen.Summary
		}{load.name, f.seed, s})
		if err != nil {
			return fmt.Errorf("writing the summary: %w", err)
		}
		return nil
	}
	facts := console.Table{Columns: []console.Column{console.Left(""), console.Left("")}, Rows: [][]string{
		{"workload", fmt.Sprintf("%s, seed %d", load.name, f.seed)},
		{"requests", fmt.Sprintf("%d: %d sent, %d completed, %d failed, %d interrupted", s.Requests, s.Sent, s.Completed, s.Failed, s.Interrupted)},
		{"within SLO", fmt.Sprintf("%s of %d (%s)", loadShare(float64(s.Met)/float64(max(1, s.Judged)), s.Judged), s.Judged, loadObjectives(s))},
		{"rate", fmt.Sprintf("%.2f requests/s sent; %.0f input and %.0f output tokens/s over %.1f s", s.Rate, s.InputRate, s.OutputRate, s.Duration)},
	}}
	for _, kind := range slices.SortedFunc(maps.Keys(s.Errors), func(a, b loadgen.Kind) int {
		return cmp.Or(s.Errors[b]-s.Errors[a], strings.Compare(string(a), string(b)))
	}) {
		facts.Rows = append(facts.Rows, []string{"error", fmt.Sprintf("%d × %s: %s", s.Errors[kind], kind, s.Examples[kind])})
	}
	latencies := console.Table{Columns: []console.Column{
		console.Left("ms"), console.Right("COUNT"), console.Right("MEAN"), console.Right("P50"), console.Right("P90"), console.Right("P99"), console.Right("MAX"),
	}}
	for _, d := range []struct {
		name string
		loadgen.Distribution
	}{{"TTFT", s.TTFT}, {"ITL", s.ITL}, {"token gaps", s.Gaps}, {"end to end", s.E2E}, {"send lag", s.SendLag}} {
		row := []string{d.name, fmt.Sprint(d.Count)}
		for _, v := range []float64{d.Mean, d.P50, d.P90, d.P99, d.Max} {
			row = append(row, loadMilliseconds(v, d.Count))
		}
		latencies.Rows = append(latencies.Rows, row)
	}
	if err := facts.Write(w); err != nil {
		return err
	}
	fmt.Fprintln(w)
	return latencies.Write(w)
}

func loadObjectives(s loadgen.Summary) string {
	var words []string
	if s.SLOTTFT > 0 {
		words = append(words, fmt.Sprintf("TTFT <= %g ms", s.SLOTTFT))
	}
	if s.SLOITL > 0 {
		words = append(words, fmt.Sprintf("ITL <= %g ms", s.SLOITL))
	}
	if len(words) == 0 {
		return "no objective: answered"
	}
	return strings.Join(words, ", ")
}

// loadShare returns a ratio in percent, or a dash if of is 0.
func loadShare(ratio float64, of int) string {
	if of == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100*ratio)
}

// loadMilliseconds returns a latency in ms, or a dash if of is 0.
func loadMilliseconds(v float64, of int) string {
	if of == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f", v)
}
