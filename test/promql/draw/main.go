package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/utils/clock"

	"github.com/llm-d-incubation/workload-variant-autoscaler/test/promql/dashboard"
	"github.com/llm-d-incubation/workload-variant-autoscaler/test/promql/picture"
)

// points is the number of steps in a range, as in a panel.
const points = 200

func main() {
	if err := run(context.Background(), os.Args[1:], clock.RealClock{}, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "draw:", err)
		os.Exit(1)
	}
}

// run draws the dashboards that args name, and writes to w the number of series of each query.
func run(ctx context.Context, args []string, clk clock.PassiveClock, w io.Writer) error {
	flags := flag.NewFlagSet("draw", flag.ContinueOnError)
	url := flags.String("prometheus", "http://127.0.0.1:9090", "base `URL` of the Prometheus to ask")
	out := flags.String("out", ".", "`directory` for the pictures")
	window := flags.Duration("range", 3*time.Hour, "how far back to look, at least 1m")
	scrape := flags.Duration("scrape", 15*time.Second, "scrape interval, as the data source in Grafana has it")
	choice := choices{}
	flags.Var(choice, "choose", "`variable=value` of a dashboard; may be repeated")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() == 0 {
		return errors.New("no dashboard is named: give one JSON file or more")
	}
	if *window < time.Minute || *scrape < time.Second {
		return fmt.Errorf("range is %v, scrape is %v: at least 1m and 1s are accepted", *window, *scrape)
	}
	prometheus, err := dashboard.Dial(*url)
	if err != nil {
		return err
	}
	look := dashboard.Look{
		At: clk.Now(), Range: *window, Step: max(*window/points, *scrape).Truncate(time.Second), Scrape: *scrape, Choice: choice,
	}
	for _, file := range flags.Args() {
		sheet, err := draw(ctx, prometheus, look, file, *out)
		if err != nil {
			return err
		}
		if err := list(w, sheet); err != nil {
			return err
		}
	}
	return nil
}

// draw draws one dashboard and returns its data.
func draw(ctx context.Context, prometheus dashboard.Prometheus, look dashboard.Look, file, out string) (*dashboard.Sheet, error) {
	board, err := dashboard.Read(file)
	if err != nil {
		return nil, err
	}
	sheet, err := board.Ask(ctx, prometheus, look)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	if err := picture.Draw(&text, sheet); err != nil {
		return nil, err
	}
	name := "dashboard-" + strings.TrimSuffix(filepath.Base(file), ".json") + ".svg"
	if err := os.WriteFile(filepath.Join(out, name), text.Bytes(), 0o600); err != nil {
		return nil, fmt.Errorf("drawing %s: %w", file, err)
	}
	return sheet, nil
}

// list writes a line for each query: dashboard, panel, query and number of series, separated by
// tabs.
func list(w io.Writer, sheet *dashboard.Sheet) error {
	for _, a := range sheet.Answers {
		for _, target := range a.Panel.Targets {
			if _, err := fmt.Fprintf(w, "%s\t%s\t%s\t%d\n", sheet.Dashboard.Title, a.Panel.Title, target.RefID, a.Shown(target.RefID)); err != nil {
				return fmt.Errorf("listing what %s shows: %w", sheet.Dashboard.Title, err)
			}
		}
	}
	return nil
}

// choices is the flag that chooses the values of variables.
type choices map[string]string

// String returns "": there is no default.
func (c choices) String() string { return "" }

// Set adds one choice.
func (c choices) Set(text string) error {
	name, value, ok := strings.Cut(text, "=")
	if !ok || name == "" {
		return fmt.Errorf("%q is no variable=value", text)
	}
	c[name] = value
	return nil
}
