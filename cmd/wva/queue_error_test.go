package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestQueueSaysWhyThereIsNoAnswer(t *testing.T) {
	const number = "a finite number of at least 0"
	const alpha = "a finite number of at least -Beta"
	three := []string{
		"--service-model", "three", "--alpha", "8", "--beta", "0.033", "--gamma", "0.00033",
		"--max-batch", "64", "--input-tokens", "512", "--output-tokens", "128",
	}
	for _, c := range []struct {
		name string
		args []string
		want string
	}{
		{"negative alpha", replaced(a100, "--alpha", "-1"), "--alpha is -1, want " + alpha},
		{"alpha no number", replaced(a100, "--alpha", "NaN"), "--alpha is NaN, want " + alpha},
		{"endless beta", replaced(a100, "--beta", "Inf"), "--beta is +Inf, want " + number},
		{"negative gamma", replaced(a100, "--gamma", "-0.1"), "--gamma is -0.1, want " + number},
		{"endless delta", replaced(a100, "--delta", "-Inf"), "--delta is -Inf, want " + number},
		{"three: negative gamma", replaced(three, "--gamma", "-1"), "--gamma is -1, want " + number},
		{"three: beta no number", replaced(three, "--beta", "nan"), "--beta is NaN, want " + number},
		{"batch 0", replaced(a100, "--max-batch", "0"), "--max-batch is 0, want 1 to 1048576 requests"},
		{"negative batch", replaced(a100, "--max-batch", "-4"), "--max-batch is -4, want 1 to 1048576 requests"},
		{"batch too large", replaced(a100, "--max-batch", "9223372036854775807"), "--max-batch is 9223372036854775807, want 1 to 1048576 requests"},
		{"negative queue", with(a100, "--max-queue", "-1"), "--max-queue is -1, want 0 to 2147483647 requests"},
		{"negative input", replaced(a100, "--input-tokens", "-1"), "--input-tokens is -1, want " + number},
		{"input no number", replaced(a100, "--input-tokens", "NaN"), "--input-tokens is NaN, want " + number},
		{"no output", replaced(a100, "--output-tokens", "0"), "--output-tokens is 0, want at least 1 token"},
		{"endless output", replaced(a100, "--output-tokens", "inf"), "--output-tokens is +Inf, want at least 1 token"},
		{
			"no time at all",
			[]string{"--alpha", "0", "--beta", "0", "--gamma", "0", "--delta", "0", "--max-batch", "8", "--input-tokens", "10", "--output-tokens", "10"},
			"--alpha 0, --beta 0, --gamma 0 and --delta 0 with --input-tokens 10 and --output-tokens 10: the time total is 0 ms, want 1e-100 to 1e+100 ms",
		},
		{
			"three: no time at all",
			[]string{
				"--service-model", "three", "--alpha", "0", "--beta", "0", "--gamma", "0", "--max-batch", "8", "--input-tokens",
				"10", "--output-tokens", "10",
			},
			"--alpha 0, --beta 0 and --gamma 0 with --input-tokens 10 and --output-tokens 10: the time total is 0 ms, want 1e-100 to 1e+100 ms",
		},
		{
			"capacity 1", with(replaced(a100, "--max-batch", "1"), "--max-queue", "0"),
			"--max-batch 1 and --max-queue 0 make 1, want at least 2 requests (a limit of the published versions, not of QueueAnalyzer); --correct takes it",
		},
		{"rate 0", with(a100, "--rate", "0"), "--rate is 0, want above 0, up to 9.443264495889546 requests/s"},
		{"negative rate", with(a100, "--rate", "2", "--rate", "-1"), "--rate is -1, want above 0, up to 9.443264495889546 requests/s"},
		{"rate no number", with(a100, "--rate", "NaN"), "--rate is NaN, want above 0, up to 9.443264495889546 requests/s"},
		{"rate beyond the range", with(a100, "--rate", "9.5"), "--rate is 9.5, want above 0, up to 9.443264495889546 requests/s"},
		{"correct: rate beyond the range", with(a100, "--correct", "--rate", "9.5"), "--rate is 9.5, want 0 to 9.443264495889546 requests/s"},
		{"correct: rate no number", with(a100, "--correct", "--rate", "NaN"), "--rate is NaN, want 0 to 9.443264495889546 requests/s"},
		{"negative TTFT", with(a100, "--ttft", "-1"), "--ttft is -1, want " + number},
		{"ITL no number", with(a100, "--itl", "NaN"), "--itl is NaN, want " + number},
		{"endless TPS", with(a100, "--tps", "Inf"), "--tps is +Inf, want " + number},
		{"percentile 1", with(a100, "--correct", "--ttft", "500", "--percentile", "1"), "--percentile is 1, want above 0 and below 1"},
		{"percentile negative", with(a100, "--correct", "--ttft", "500", "--percentile", "-0.5"), "--percentile is -0.5, want above 0 and below 1"},
		{"percentile 0", with(a100, "--correct", "--ttft", "500", "--percentile", "0"), "--percentile is 0, want above 0 and below 1"},
		{"percentile in percent", with(a100, "--correct", "--itl", "50", "--percentile", "99"), "--percentile is 99, want above 0 and below 1"},
		{"percentile no number", with(a100, "--correct", "--itl", "50", "--percentile", "NaN"), "--percentile is NaN, want above 0 and below 1"},
		{"ITL below the possible", with(a100, "--itl", "10"), "--itl of 10 ms cannot be met: the best achievable ITL (mean) is 20.99 ms, at the least rate"},
		{"TTFT below the possible", with(a100, "--ttft", "5"), "--ttft of 5 ms cannot be met: the best achievable TTFT (mean) is 18.01 ms, at the least rate"},
		{
			"three: TTFT below the possible", with(three, "--ttft", "5"),
			"--ttft of 5 ms cannot be met: the best achievable TTFT (mean) is 33.65 ms, at the least rate",
		},
		{
			"correct: percentile below the possible", with(a100, "--correct", "--ttft", "5", "--percentile", "0.9"),
			"--ttft of 5 ms cannot be met: the best achievable TTFT (p90) is 18 ms, at the least rate",
		},
		{
			"correct: TPS above the possible", with(a100, "--correct", "--itl", "24", "--tps", "400"),
			"--tps of 400 tokens/s cannot be reached: the most that this replica serves while it keeps the other targets is 297.4 tokens/s",
		},
		{
			"target of a latency that does not change",
			with(
				[]string{"--alpha", "7", "--beta", "0", "--gamma", "1", "--delta", "0.1", "--max-batch", "8", "--input-tokens", "10", "--output-tokens", "10"},
				"--itl", "50",
			),
			"--itl of 50 ms has no rate: the ITL is 7 ms at all of them, and the published versions accept that only as the target itself; --correct answers",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			stdout, err := queue(t, c.args...)
			if err == nil || err.Error() != c.want || stdout != "" {
				t.Errorf("got %v and %q, want %s", err, stdout, c.want)
			}
			if errors.Is(err, errUsage) {
				t.Errorf("got bad usage, want exit status 1")
			}
			stdout, err = queue(t, with(c.args, "-o", "json")...)
			if err == nil || err.Error() != c.want {
				t.Errorf("json: got %v, want %s", err, c.want)
			}
			if diff := cmp.Diff(map[string]any{"error": c.want}, mustRead[map[string]any](t, stdout)); diff != "" {
				t.Errorf("json (-want +got):\n%s", diff)
			}
		})
	}
}

func TestQueueAnswersWithCorrectValuesWherePublishedOnesDoNot(t *testing.T) {
	alone := with(replaced(a100, "--max-batch", "1"), "--max-queue", "0")
	flat := replaced(a100, "--beta", "0")
	for _, args := range [][]string{with(alone, "--rate", "0.1"), with(flat, "--itl", "50"), with(a100, "--rate", "0")} {
		if _, err := queue(t, args...); err == nil {
			t.Errorf("%q: published values answer", args)
		}
		mustQueue(t, with(args, "--correct")...)
	}
}

func TestQueueRefusesBadUsage(t *testing.T) {
	three := []string{
		"--service-model", "three", "--alpha", "8", "--beta", "0.1", "--gamma", "0.1", "--max-batch", "4", "--input-tokens", "1",
		"--output-tokens", "1",
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "--alpha, --beta, --gamma, --delta, --max-batch, --input-tokens, --output-tokens: required"},
		{[]string{"--service-model", "three"}, "--alpha, --beta, --gamma, --max-batch, --input-tokens, --output-tokens: required"},
		{with(a100, "now"), `queue takes no arguments, have ["now"]`},
		{with(a100, "--service-model", "two"), `--service-model "two": want four or three`},
		{with(a100, "-o", "yaml"), `--output "yaml": want table or json`},
		{with(a100, "-o", "json", "--plot"), "--plot is for people"},
		{with(a100, "--svg", ""), "--svg is empty"},
		{with(three, "--delta", "0.1"), "--delta 0.1: want none with --service-model three"},
		{with(a100, "--ttft", "1", "--percentile", "0.9"), "--percentile needs --correct"},
		{with(a100, "--correct", "--percentile", "0.9"), "--percentile needs a target"},
		{replaced(a100, "--max-batch", "1.5"), `invalid argument "1.5" for "--max-batch"`},
		{with(a100, "--rate", "fast"), `invalid argument "fast" for "--rate"`},
	} {
		stdout, err := queueAsRoot(t, c.args...)
		if !errors.Is(err, errUsage) || !strings.Contains(err.Error(), c.want) || stdout != "" {
			t.Errorf("%q: got %v and %q, want bad usage: %s", c.args, err, stdout, c.want)
		}
	}
}

// queueAsRoot runs "wva queue" below the root, which marks what flags refuse.
func queueAsRoot(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out strings.Builder
	root := newRootCommand()
	if command, _, err := root.Find([]string{"queue"}); err != nil || command == root {
		root.AddCommand(newQueueCommand())
	}
	root.SetArgs(append([]string{"queue"}, args...))
	root.SetOut(&out)
	root.SetErr(&out)
	err := root.ExecuteContext(t.Context())
	return out.String(), err
}
