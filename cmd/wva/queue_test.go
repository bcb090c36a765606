package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/pkg/analyzer"
)

// a100 is the published worked example of a Llama 8B on an A100, with a batch of 64.
var a100 = []string{
	"--alpha", "20.58", "--beta", "0.41", "--gamma", "5.2", "--delta", "0.1",
	"--max-batch", "64", "--input-tokens", "128", "--output-tokens", "128",
}

// queue runs "wva queue".
func queue(t *testing.T, args ...string) (stdout string, err error) {
	t.Helper()
	var out bytes.Buffer
	command := newQueueCommand()
	command.SilenceUsage, command.SilenceErrors = true, true
	command.SetArgs(args)
	command.SetOut(&out)
	err = command.ExecuteContext(t.Context())
	return out.String(), err
}

func mustQueue(t *testing.T, args ...string) string {
	t.Helper()
	stdout, err := queue(t, args...)
	if err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	return stdout
}

// with is the arguments of base with more.
func with(base []string, more ...string) []string { return slices.Concat(base, more) }

// replaced is base with another value of one flag.
func replaced(base []string, flag, value string) []string {
	changed := slices.Clone(base)
	changed[slices.Index(changed, flag)+1] = value
	return changed
}

func mustRead[T any](t *testing.T, text string) T {
	t.Helper()
	var answer T
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	return answer
}

// keys are those of an object, sorted.
func keys(object map[string]any) string {
	var names []string
	for name := range object {
		names = append(names, name)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

func TestQueueAnswersInTheFixedForm(t *testing.T) {
	type form struct {
		RateRange map[string]any   `json:"rate_range"`
		Points    []map[string]any `json:"points"`
		Size      map[string]any   `json:"size"`
	}
	const point, size = "in_service itl prefill response rho throughput ttft wait rate",
		"itl rate rate_itl rate_tps rate_ttft throughput tps ttft"
	plain := mustQueue(t, with(a100, "--rate", "2", "--rate", "8,6", "-o", "json")...)
	if got := keys(mustRead[map[string]any](t, plain)); got != "points rate_range" {
		t.Errorf("without targets: got the keys %s, want points and rate_range", got)
	}
	answer := mustRead[form](t, plain)
	if got := keys(answer.RateRange); got != "max min" {
		t.Errorf("rate_range: got the keys %s", got)
	}
	wantPoint := strings.Fields(point)
	slices.Sort(wantPoint)
	var rates []any
	for _, p := range answer.Points {
		rates = append(rates, p["rate"])
		if got := keys(p); got != strings.Join(wantPoint, " ") {
			t.Errorf("point: got the keys %s, want %v", got, wantPoint)
		}
	}
	if diff := cmp.Diff([]any{2.0, 8.0, 6.0}, rates); diff != "" {
		t.Errorf("rates (-want +got):\n%s", diff)
	}
	// A target of 0 is none, and still asks for the size.
	for _, targets := range [][]string{{"--ttft", "0"}, {"--ttft", "500", "--itl", "24", "--tps", "100"}} {
		sized := mustQueue(t, with(a100, with(targets, "-o", "json")...)...)
		if got := keys(mustRead[map[string]any](t, sized)); got != "points rate_range size" {
			t.Errorf("%v: got the keys %s, want points, rate_range and size", targets, got)
		}
		if got := keys(mustRead[form](t, sized).Size); got != size {
			t.Errorf("%v: got the keys %s, want %s", targets, got, size)
		}
	}
}

func TestQueueLetsTenBatchesWait(t *testing.T) {
	args := with(a100, "--rate", "9.4", "-o", "json")
	unset := mustQueue(t, args...)
	if diff := cmp.Diff(mustQueue(t, with(args, "--max-queue", "640")...), unset); diff != "" {
		t.Errorf("without --max-queue (-want +got):\n%s", diff)
	}
	if mustQueue(t, with(args, "--max-queue", "0")...) == unset {
		t.Error("--max-queue 0 is taken for the default")
	}
}

func TestQueueShowsTheWholeRangeWithoutARate(t *testing.T) {
	answer := mustRead[queueAnswer](t, mustQueue(t, with(a100, "-o", "json")...))
	first, last := answer.Points[0].Rate, answer.Points[len(answer.Points)-1].Rate
	if first != answer.RateRange.Min || last != answer.RateRange.Max {
		t.Errorf("got points from %v to %v, want %v", first, last, answer.RateRange)
	}
	if !slices.IsSortedFunc(answer.Points, func(a, b queuePoint) int {
		return cmpRising(a.Rate, b.Rate)
	}) {
		t.Errorf("the rates do not rise: %+v", answer.Points)
	}
	// A replica whose rates are all within a factor of 3 has few round ones.
	r := queueRange{Min: 0.5, Max: 1}
	for i, rate := range overview(r) {
		if rate < r.Min || rate > r.Max || i > 0 && rate <= overview(r)[i-1] {
			t.Errorf("overview(%v) = %v", r, overview(r))
		}
	}
}

// cmpRising is -1 if a is below b, and 1 otherwise: equal neighbours are not sorted.
func cmpRising(a, b float64) int {
	if a < b {
		return -1
	}
	return 1
}

func TestQueueGivesCorrectValuesOnRequest(t *testing.T) {
	q, err := analyzer.NewQueueAnalyzer(analyzer.Config{
		MaxBatch: 64, MaxQueue: 640, Size: analyzer.RequestSize{InputTokens: 128, OutputTokens: 128},
		Service: analyzer.FourParameter{Alpha: 20.58, Beta: 0.41, Gamma: 5.2, Delta: 0.1},
	})
	if err != nil {
		t.Fatal(err)
	}
	type percentiles struct {
		Values string
		Points []struct {
			Rate, TTFT float64
			P50        float64 `json:"ttft_p50"`
			P90        float64 `json:"ttft_p90"`
			P99        float64 `json:"ttft_p99"`
		}
		Size queueSize
	}
	got := mustRead[percentiles](
		t,
		mustQueue(t, with(a100, "--correct", "--rate", "0", "--rate", "8.5", "--tps", "900", "--ttft", "2000", "--percentile", "0.99", "-o", "json")...),
	)
	if got.Values != "correct" || len(got.Points) != 2 {
		t.Fatalf("got %+v, want two points of correct values", got)
	}
	for _, p := range got.Points {
		for share, ttft := range map[float64]float64{0.5: p.P50, 0.9: p.P90, 0.99: p.P99} {
			if want, err := q.PercentileTTFT(p.Rate, share); err != nil || ttft != want {
				t.Errorf("rate %v: TTFT of the share %v is %v, want %v (%v)", p.Rate, share, ttft, want, err)
			}
		}
	}
	// A request alone takes gamma + delta x 128 = 18 ms; published versions leave the tokens out.
	if alone := got.Points[0].TTFT; math.Abs(alone-18) > 1e-9 {
		t.Errorf("TTFT without load is %v, want 18", alone)
	}
	size, err := q.Size(analyzer.Targets{TTFT: 2000, TTFTPercentile: 0.99, TPS: 900})
	if err != nil || got.Size.Rate != size.Rate || got.Size.RateTPS != size.RateTPS || got.Size.TTFT != size.TTFT {
		t.Errorf("got the size %+v, want %+v (%v)", got.Size, size, err)
	}
}

func TestQueueTellsPeopleWhatATargetAllows(t *testing.T) {
	got := mustQueue(t, with(a100, "--rate", "2,5,8", "--ttft", "500", "--itl", "24", "--tps", "100")...)
	want := `One replica: a batch of 64, a queue of 640; requests of 128 input and 128 output tokens.
Published values: means, with the published simplifications; --correct gives others.

RATE/s  SERVED/s  TTFT ms  ITL ms  WAIT ms  PREFILL ms  RESPONSE ms  RUNNING  UTILIZATION  TARGETS
     2         2    96.95   23.52     0.00       96.95      3083.83     6.17       0.0964  kept
     5         5   272.21   29.13     0.00      272.21      3972.07    19.86       0.3103  ITL missed
     8         8   614.52   39.26    26.25      588.28      5600.12    44.59       0.6967  TTFT and ITL missed

The replica serves 0.0003726 to 9.443 requests/s.

TARGET      WANTED  UP TO requests/s  AT THE RATE  UNIT
TTFT, mean     500             7.333          112  ms
ITL, mean       24             2.323           24  ms
TPS            100             8.499        297.4  tokens/s

One replica keeps the targets up to 2.323 requests/s, of which it serves 2.323.
A TPS target, whatever its value, takes a tenth off the greatest rate here, as published.
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
	got = mustQueue(t, with(a100, "--rate", "8", "--correct", "--ttft", "1500", "--percentile", "0.95", "--tps", "100")...)
	for _, want := range []string{
		"Correct values: means, and the TTFT that 50, 90 and 99 % of the requests do not exceed.",
		"TTFT ms  p50 ms  p90 ms   p99 ms  ITL ms",
		" 614.52  581.20  760.40  1745.69   39.26",
		"TTFT, p95    1500", "from 0.7812", "  kept",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("there is no %q in:\n%s", want, got)
		}
	}
	if got := mustQueue(t, with(a100, "--ttft", "0")...); !strings.Contains(got, "Without a target, one replica takes up to 9.443 requests/s and serves 9.433.") {
		t.Errorf("a target of 0 is not told from others:\n%s", got)
	}
}

func TestQueuePlotsOverTheRate(t *testing.T) {
	file := filepath.Join(t.TempDir(), "queue.svg")
	got := mustQueue(t, with(a100, "--ttft", "500", "--itl", "24", "--rate", "2", "--plot", "--svg", file)...)
	for _, want := range []string{
		"TTFT, ms (logarithmic)", "ITL, ms", "target 500", "target 24", "arrival rate, requests/s",
		"up to 2.323 requests/s the targets are kept", "⠤",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("there is no %q in:\n%s", want, got)
		}
	}
	if strings.Contains(got, "\x1b") {
		t.Error("there are escape sequences where there is no terminal")
	}
	svg, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := xml.Unmarshal(svg, new(struct{})); err != nil {
		t.Errorf("the picture is no XML: %v", err)
	}
	mustQueue(t, with(a100, "--correct", "--ttft", "500", "--percentile", "0.95", "--rate", "2", "-o", "json", "--svg", file)...)
	if svg, err = os.ReadFile(file); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"correct values", ">mean<", ">p50<", ">p90<", ">p95<", ">p99<", ">p95 target 500<"} {
		if !bytes.Contains(svg, []byte(want)) {
			t.Errorf("the picture of correct values has no %s", want)
		}
	}
	if _, err := queue(t, with(a100, "--svg", filepath.Join(file, "none"))...); err == nil || errors.Is(err, errUsage) ||
		!strings.Contains(err.Error(), "writing --svg") {
		t.Errorf("a file that cannot be written: got %v", err)
	}
}

func TestFiguresAreShort(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 128: "128", 9.44326: "9.443", 0.000372615: "0.0003726", 30211.2: "30210", 1e-9: "1e-09", -2.5: "-2.5", 0.99999: "1", 2e10: "2e+10",
	} {
		if got := figure(v); got != want {
			t.Errorf("figure(%s) = %s, want %s", strconv.FormatFloat(v, 'g', -1, 64), got, want)
		}
	}
	if diff := cmp.Diff([]string{"0.01200", "0.00010"}, column([]float64{0.012, 0.0001})); diff != "" {
		t.Errorf("column of small numbers (-want +got):\n%s", diff)
	}
}
