package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/replay"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/record"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// replayFlags are the flags of "wva replay".
type replayFlags struct {
	output, cycle string
}

func newReplayCommand() *cobra.Command {
	var f replayFlags
	command := &cobra.Command{
		Use:   "replay FILE...",
		Short: "Decide recorded cycles again, and compare",
		Long: `Replay reads files of cycles that a manager recorded (--record-file), decides
each of them again, and compares the plan with the recorded one, byte for byte.
Where they differ it shows the decisions of both. Name FILE.1 before FILE to have
them in order.

A manager of another version may decide otherwise; replay says by which version
cycles were recorded, if not by this one. A line that is torn, because a process
was killed or a disk was full, is named and passed over.

The exit status is 0 when every cycle was decided to the same bytes, 1 when one
was not, could not be read or has no plan, or when there is none; 2 for bad usage.`,
		Example: `  wva replay cycles.jsonl.1 cycles.jsonl
  wva replay cycles.jsonl --cycle k7hw2cxd-12 -o json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fmt.Errorf("%w: replay takes the name of a file with recorded cycles, - for standard input", errUsage)
			}
			return nil
		},
		RunE: f.run,
	}
	flags := command.Flags()
	flags.StringVarP(&f.output, "output", "o", "table", "table or json")
	flags.StringVar(&f.cycle, "cycle", "", "the only `cycle` to replay, as logs and explanations name it")
	return command
}

func (f *replayFlags) run(command *cobra.Command, files []string) error {
	if f.output != "table" && f.output != "json" {
		return fmt.Errorf("%w: --output %q: want table or json", errUsage, f.output)
	}
	out := command.OutOrStdout()
	r := replayRun{build: record.Build(), only: scaling.CycleID(f.cycle), warnings: command.ErrOrStderr(), builds: map[string]int{}}
	r.tell = func(done replayed) error {
		r.Cycles = append(r.Cycles, done)
		return nil
	}
	if f.output == "table" {
		fmt.Fprintf(out, replayRow, "CYCLE", "TIME", "MODELS", "RESULT")
		r.tell = func(done replayed) error { return done.print(out) }
	}
	if err := r.files(command.Context(), files, command.InOrStdin()); err != nil {
		return err
	}
	var err error
	if f.output == "json" {
		r.Cycles = append([]replayed{}, r.Cycles...) // an empty list, not null
		err = writeJSON(out, r)
	} else {
		_, err = fmt.Fprintf(out, "\n%d of %d cycles were decided to the same bytes.\n", r.Same, r.Total)
	}
	switch {
	case err != nil:
		return err
	case r.Total == 0 && f.cycle != "":
		return fmt.Errorf("there is no cycle %q in what was read", f.cycle)
	case r.Total == 0:
		return errors.New("there is no cycle in what was read")
	case r.Same < r.Total || r.Unreadable > 0:
		return errFinding
	}
	return nil
}

// replayRun counts the results of the cycles that were decided again.
type replayRun struct {
	Total      int        `json:"total"`      // cycles read
	Same       int        `json:"same"`       // decided to the same bytes
	Unreadable int        `json:"unreadable"` // lines, without torn ones
	Torn       int        `json:"torn"`       // lines
	Cycles     []replayed `json:"cycles"`

	build    string                    // of this program
	only     scaling.CycleID           // "" for all
	tell     func(done replayed) error // called for each cycle
	warnings io.Writer
	builds   map[string]int // number of cycles by the other builds that recorded them
}

// files replays one file after the other.
func (r *replayRun) files(ctx context.Context, names []string, stdin io.Reader) error {
	for _, name := range names {
		if err := r.file(ctx, name, stdin); err != nil {
			return fmt.Errorf("replaying %s: %w", name, err)
		}
	}
	return nil
}

func (r *replayRun) file(ctx context.Context, name string, stdin io.Reader) error {
	for c, err := range recordedCycles(name, stdin) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if line, bad := errors.AsType[*record.LineError](err); bad {
			if errors.Is(line, record.ErrTorn) {
				r.Torn++
			} else {
				r.Unreadable++
			}
			fmt.Fprintf(r.warnings, "wva: %s: %v\n", name, line)
			continue
		}
		if err != nil {
			return err
		}
		if r.only != "" && c.Cycle != r.only {
			continue
		}
		if err := r.again(c); err != nil {
			return err
		}
	}
	return nil
}

// again decides a cycle again and reports the result.
func (r *replayRun) again(c record.Cycle) error {
	if c.Build != "" && c.Build != r.build {
		if r.builds[c.Build]++; r.builds[c.Build] == 1 {
			fmt.Fprintf(r.warnings, "wva: recorded by version %s, from cycle %s on; this is %s\n", c.Build, c.Cycle, r.build)
		}
	}
	done := newReplayed(c)
	r.Total++
	if done.Result == resultSame {
		r.Same++
	}
	return r.tell(done)
}

// The results of a comparison.
const (
	resultSame      = "same"
	resultDifferent = "different"
	resultNoPlan    = "no plan recorded"
)

// replayed is one cycle that was decided again.
type replayed struct {
	Cycle       scaling.CycleID `json:"cycle"`
	Time        time.Time       `json:"time"` // of the decision
	Build       string          `json:"build,omitempty"`
	Models      int             `json:"models"`
	Result      string          `json:"result"`
	Differences []difference    `json:"differences,omitempty"`
	// Plans says how the plans differ where all decisions are equal.
	Plans string `json:"plans,omitempty"`
}

// newReplayed decides a cycle again and compares the plans.
func newReplayed(c record.Cycle) replayed {
	out := replayed{Cycle: c.Cycle, Time: c.Now, Build: c.Build, Models: len(c.Snapshots)}
	decided := replay.Decide(c).Plan
	switch {
	case c.Plan == nil:
		out.Result = resultNoPlan
		return out
	case record.SamePlan(*c.Plan, decided):
		out.Result = resultSame
		return out
	}
	out.Result = resultDifferent
	if out.Differences = differences(*c.Plan, decided); len(out.Differences) == 0 {
		out.Plans = fmt.Sprintf("the decisions are the same, in another order or at another time: recorded at %s, decided at %s",
			c.Plan.At.Format(time.RFC3339Nano), decided.At.Format(time.RFC3339Nano))
	}
	return out
}

// replayRow is the format of a line of the table. Cycle names have 8 letters and a number.
const replayRow = "%-16s  %-30s  %6v  %s\n"

// print writes the cycle as text, with its differences below.
func (r replayed) print(w io.Writer) error {
	name := string(r.Cycle)
	if name == "" {
		name = "-"
	}
	if _, err := fmt.Fprintf(w, replayRow, name, r.Time.Format(time.RFC3339Nano), r.Models, r.Result); err != nil {
		return err
	}
	if r.Plans != "" {
		fmt.Fprintf(w, "  %s\n", r.Plans)
	}
	for _, d := range r.Differences {
		d.print(w)
	}
	return nil
}
