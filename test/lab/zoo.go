package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/lab"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/zoo"
)

// zooOptions are the flags of "lab zoo".
type zooOptions struct {
	traces, extra, out, policies, run, commit, against string
	seed                                               uint64
	n, points, foresight, workers, requests            int
	dry, text                                          bool
}

// unasked is the policy that the manager runs without any settings of the user.
const unasked = lab.Tokens + ":objectives=none"

// ownPolicies are our policies in the zoo, with the one that is judged first.
const ownPolicies = lab.Hybrid + " " + lab.Tokens + " " + lab.Saturation + " " + unasked

// defaultPoints is the number of settings with which a policy of others is tried.
const defaultPoints = 4

func parseZoo(args []string) (zooOptions, error) {
	var o zooOptions
	flags := flag.NewFlagSet("lab zoo", flag.ContinueOnError)
	flags.StringVar(&o.traces, "traces", "", "folder with traces and profiles.json")
	flags.StringVar(&o.extra, "extra", "", "another folder with traces, to draw from as well")
	flags.StringVar(&o.out, "o", ".local/zoo", "folder for results and the document")
	flags.StringVar(&o.policies, "policies", "all", "policies, separated by spaces; own for ours, all for ours and the others")
	flags.StringVar(&o.run, "run", "", "only the scenarios with these numbers, separated by commas")
	flags.StringVar(&o.commit, "commit", "unknown", "that the program was built from: results of ours are kept for each")
	flags.StringVar(&o.against, "against", "", "another commit of which results are kept, to show beside the first policy")
	flags.Uint64Var(&o.seed, "seed", 1, "of what is drawn")
	flags.IntVar(&o.n, "n", 100, "scenarios")
	flags.IntVar(&o.points, "points", defaultPoints, "settings that a policy of others is tried with at most, its defaults among them")
	flags.IntVar(&o.requests, "requests", zoo.MaxRequests, "requests of a scenario at most, about; another number draws other scenarios")
	flags.IntVar(&o.foresight, "clairvoyant", 0, "runs that the clairvoyant of a scenario may take, 0 leaves it out")
	flags.IntVar(&o.workers, "parallel", 0, "scenarios at the same time, 0 for one on each processor")
	flags.BoolVar(&o.dry, "dry", false, "print what is drawn and the estimate, and end")
	flags.BoolVar(&o.text, "print", false, "print the scenario files, and end")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	switch {
	case o.traces == "":
		return o, errors.New("no folder of traces: make lab-zoo TRACES=folder")
	case o.n < 1:
		return o, fmt.Errorf("-n %d, want 1 or more", o.n)
	case o.points < 1 || o.requests < 1:
		return o, fmt.Errorf("-points %d and -requests %d, want 1 or more", o.points, o.requests)
	case o.foresight < 0 || o.workers < 0:
		return o, fmt.Errorf("-clairvoyant %d and -parallel %d, want 0 or more", o.foresight, o.workers)
	}
	var err error
	o.commit, err = buildOf(o.commit)
	return o, err
}

// buildOf identifies a build by its commit, and by a digest as well where the commit does not
// suffice.
func buildOf(commit string) (string, error) {
	if commit != "unknown" && !strings.HasSuffix(commit, "-dirty") {
		return commit, nil
	}
	build, err := executable()
	return commit + " " + build, err
}

// executable returns a digest of this program, which identifies a build without a commit.
func executable() (string, error) {
	name, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("finding this program: %w", err)
	}
	content, err := os.ReadFile(name)
	if err != nil {
		return "", fmt.Errorf("reading this program: %w", err)
	}
	return hash(string(content))[:8], nil
}

// choices returns the policies to run.
func (o zooOptions) choices() ([]lab.Choice, error) {
	names := strings.Fields(o.policies)
	if len(names) == 1 && (names[0] == "own" || names[0] == "all") {
		all := names[0] == "all"
		names = strings.Fields(ownPolicies)
		for _, name := range lab.Names() {
			if all && !(lab.Choice{Name: name}).Own() {
				names = append(names, name)
			}
		}
	}
	choices, err := lab.ReadChoices(names)
	if err != nil {
		return nil, fmt.Errorf("-policies: %w", err)
	}
	return choices, nil
}

// numbers returns the numbers of the scenarios.
func (o zooOptions) numbers() ([]int, error) {
	var out []int
	if o.run == "" {
		for i := range o.n {
			out = append(out, i+1)
		}
		return out, nil
	}
	for text := range strings.SplitSeq(o.run, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || n < 1 {
			return nil, fmt.Errorf("-run %q, want numbers of scenarios from 1 on, separated by commas", o.run)
		}
		out = append(out, n)
	}
	return out, nil
}

// zooStock is what scenarios are drawn from, with the digests and the folders of the traces.
type zooStock struct {
	zoo.Stock
	digests map[string]string // by the name of the trace
	folders map[string]string
}

// readStock reads the profiles and the traces of the folders.
func readStock(folders ...string) (zooStock, error) {
	c := zooStock{digests: map[string]string{}, folders: map[string]string{}}
	m, err := readMeasurements(folders[0])
	if err != nil {
		return c, err
	}
	if c.Replicas, err = m.replicas(); err != nil {
		return c, err
	}
	for _, folder := range folders {
		files, err := filepath.Glob(filepath.Join(folder, "*.csv"))
		if err != nil {
			return c, fmt.Errorf("reading the folder %s: %w", folder, err)
		}
		slices.Sort(files)
		for _, file := range files {
			if err := c.read(file); err != nil {
				return c, err
			}
		}
	}
	return c, nil
}

// read adds a trace.
func (c *zooStock) read(file string) error {
	name := filepath.Base(file)
	if c.digests[name] != "" {
		return fmt.Errorf("%s: there is a trace of that name in another folder, want another name", file)
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("reading a trace: %w", err)
	}
	record, err := lab.ReadRecord(file)
	if err != nil {
		return err
	}
	record.Name = name
	sum := sha256.Sum256(content)
	c.digests[name], c.folders[name] = hex.EncodeToString(sum[:8]), filepath.Dir(file)
	c.Traces = append(c.Traces, record)
	return nil
}

// zooCase is a drawn scenario.
type zooCase struct {
	number int
	zoo.Case
	key string // a hash of the scenario and its traces
}

// draw draws a scenario.
func (c zooStock) draw(seed uint64, number int) (zooCase, error) {
	a := zooCase{number: number, Case: zoo.Draw(seed, number, c.Stock)}
	text, err := a.Text()
	if err != nil {
		return a, err
	}
	for _, part := range a.Workload {
		text += c.digests[part.File]
	}
	a.key = hash(text)
	return a, nil
}

// hash returns a digest that is long enough to identify texts.
func hash(texts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(texts, "\x00")))
	return hex.EncodeToString(sum[:12])
}

// file returns the scenario file of a case, with the absolute paths of its traces.
func (c zooStock) file(a zooCase) (string, error) {
	a.Workload = slices.Clone(a.Workload)
	for i, part := range a.Workload {
		if part.File != "" {
			path, err := filepath.Abs(filepath.Join(c.folders[part.File], part.File))
			if err != nil {
				return "", fmt.Errorf("finding the trace %s: %w", part.File, err)
			}
			a.Workload[i].File = path
		}
	}
	return a.Text()
}

// runZoo draws scenarios, runs those without kept results, and writes the document.
func runZoo(ctx context.Context, args []string, out io.Writer) error {
	o, err := parseZoo(args)
	if err != nil {
		return err
	}
	choices, err := o.choices()
	if err != nil {
		return err
	}
	numbers, err := o.numbers()
	if err != nil {
		return err
	}
	folders := []string{o.traces}
	if o.extra != "" {
		folders = append(folders, o.extra)
	}
	c, err := readStock(folders...)
	if err != nil {
		return err
	}
	c.Requests = o.requests
	var cases []zooCase
	for _, n := range numbers {
		a, err := c.draw(o.seed, n)
		if err != nil {
			return fmt.Errorf("scenario %d of seed %d: %w", n, o.seed, err)
		}
		if o.text {
			text, err := c.file(a)
			if err != nil {
				return err
			}
			fmt.Fprintln(out, text)
		}
		cases = append(cases, a)
	}
	if o.text {
		return nil
	}
	return o.execute(ctx, out, c, cases, choices)
}
