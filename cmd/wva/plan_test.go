package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func plan(t *testing.T, stdin string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, errOut bytes.Buffer
	command := newPlanCommand()
	command.SilenceUsage, command.SilenceErrors = true, true
	command.SetArgs(args)
	command.SetIn(strings.NewReader(stdin))
	command.SetOut(&out)
	command.SetErr(&errOut)
	err = command.ExecuteContext(t.Context())
	return out.String(), errOut.String(), err
}

func planExample(t *testing.T, old, changed string) (file, text string) {
	t.Helper()
	file = filepath.Join("..", "..", "pkg", "config", "testdata", "system.yaml")
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(content), old) {
		t.Fatalf("the example has no %q", old)
	}
	return file, strings.Replace(string(content), old, changed, 1)
}

func TestPlanAnswersInTheFixedForm(t *testing.T) {
	file, text := planExample(t, "", "")
	for _, args := range [][]string{{"-f", file}, {"-f", "-"}, {"-f", file, "--solver", "exact"}} {
		stdout, stderr, err := plan(t, text, append(args, "-o", "json")...)
		if err != nil || stderr != "" {
			t.Fatalf("%v: got %v, %q", args, err, stderr)
		}
		var answer map[string]map[string]map[string]any
		if err := json.Unmarshal([]byte(stdout), &answer); err != nil {
			t.Fatalf("%v in:\n%s", err, stdout)
		}
		if len(answer) != 1 || len(answer["allocations"]) != 2 {
			t.Fatalf("got %v, want allocations of two servers and nothing else", answer)
		}
		for server, got := range answer["allocations"] {
			for _, key := range []string{"accelerator", "numReplicas", "maxBatch", "cost", "itlAverage", "ttftAverage"} {
				if _, ok := got[key]; !ok || len(got) != 6 {
					t.Errorf("server %s: got %v, want six keys, %s among them", server, got, key)
				}
			}
		}
		if got := answer["allocations"]["chat"]; got["accelerator"] != "G2" || got["numReplicas"] != 2.0 || got["cost"] != 46.0 {
			t.Errorf("got %v for chat, want 2 replicas on G2 at 46", got)
		}
	}
}

func TestPlanTellsPeopleWhoGetsLessAndWhy(t *testing.T) {
	_, text := planExample(t, "Intel-Gaudi-2-96GB, count: 4", "Intel-Gaudi-2-96GB, count: 0")
	text = strings.Replace(text, "NVIDIA-A100-PCIE-80GB, count: 8", "NVIDIA-A100-PCIE-80GB, count: 1", 1)
	text = strings.Replace(text, "arrivalRate: 60,", "arrivalRate: -1,", 1)
	stdout, _, err := plan(t, text, "-f", "-")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"SERVER  ACCELERATOR  REPLICAS  BATCH  COST/h  ITL ms  TTFT ms",
		"chat    A100           1 of 5     64   40.00   23.52    96.95",
		"",
		"TYPE                   USED  IN STOCK  COST/h",
		"Intel-Gaudi-2-96GB        0         0    0.00",
		"NVIDIA-A100-PCIE-80GB     1         1   40.00",
		"",
		"Cost 40.00 per hour.",
		"batch gets none: the load is not known",
	}
	got := strings.Split(strings.TrimSpace(stdout), "\n")
	if diff := cmp.Diff(want, got[:min(len(want), len(got))]); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
	if last := got[len(got)-1]; !strings.HasPrefix(last, "chat gets 1 replica, less than it wants: ") ||
		!strings.Contains(last, "A100 takes 5 of type NVIDIA-A100-PCIE-80GB, 0 left") {
		t.Errorf("got %q, want why chat gets less", last)
	}
	stdout, stderr, err := plan(t, text, "-f", "-", "-o", "json")
	if err != nil || strings.Contains(stdout, "batch") || !strings.Contains(stderr, "wva: server batch gets none: ") {
		t.Errorf("got %v, stdout %q, stderr %q; want batch absent there and named here", err, stdout, stderr)
	}
}

func TestPlanShowsWhatIsProven(t *testing.T) {
	file, _ := planExample(t, "", "")
	stdout, _, err := plan(t, "", "-f", file, "--solver", "exact")
	if err != nil || !strings.Contains(stdout, ": optimal, gap 0.00 %.") {
		t.Errorf("got %v and\n%s\nwant a proof", err, stdout)
	}
}

func TestPlanNamesTheFieldThatIsNotAccepted(t *testing.T) {
	_, text := planExample(t, "class: Premium", "class: Gold")
	stdout, _, err := plan(t, text, "-f", "-", "-o", "json")
	const want = `system.serverData.servers[0].class: "Gold" is not accepted: want the name of a declared service class`
	if err == nil || exitCode(err) != 1 || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	var answer struct {
		Allocations map[string]any
		Error       string
	}
	if err := json.Unmarshal([]byte(stdout), &answer); err != nil || answer.Error != want || len(answer.Allocations) != 0 {
		t.Errorf("got %v in %s, want the error and no allocations", err, stdout)
	}
	if stdout, _, err := plan(t, text, "-f", "-"); err == nil || stdout != "" {
		t.Errorf("table: got %v and %q, want the error alone", err, stdout)
	}
	if _, _, err := plan(t, "", "-f", filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) || exitCode(err) != 1 {
		t.Errorf("no such file: got %v", err)
	}
}

func TestPlanRefusesBadUsage(t *testing.T) {
	for _, args := range [][]string{
		{},
		{"-f", "x", "more"},
		{"-f", "x", "-o", "yaml"},
		{"-f", "x", "--solver", "best"},
		{"-f", "x", "--budget", "1s"},
		{"-f", "x", "--solver", "exact", "--budget", "-1s"},
		{"-f", "x", "--solver", "exact", "--gap", "1"},
	} {
		if _, _, err := plan(t, "", args...); !errors.Is(err, errUsage) {
			t.Errorf("%q: got %v, want bad usage", args, err)
		}
	}
}
