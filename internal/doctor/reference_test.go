package doctor

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/goldentest"
)

var update = flag.Bool("update", false, "rewrite the page of findings")

// page is where users read of the findings.
const page = "../../docs/reference/findings.md"

func TestReferenceOfFindingsIsGenerated(t *testing.T) {
	goldentest.Generated(t, page, []byte(reference()), *update)
}

// reference returns the page.
func reference() string {
	var b strings.Builder
	fmt.Fprintf(&b, `<!-- Generated from internal/doctor by go test ./internal/doctor -run Reference -update. -->

# Findings of wva doctor

%d findings, by the stage of the way of a decision. The first two digits of a code are the stage, the last two the finding; a code
keeps its meaning. A finding that another one explains is left out of the answer. How the command is called:
[wva doctor](cli.md#wva-doctor); by symptom: [troubleshooting](../user-guide/troubleshooting.md). Words in capitals in a command
stand for names of the case, which `+"`wva doctor`"+` writes there.

| Code | Finding |
| --- | --- |
`, len(Table()))
	for _, e := range Table() {
		fmt.Fprintf(&b, "| [%s](#%s) | %s |\n", e.Code, strings.ToLower(string(e.Code)), e.Sentence)
	}
	for _, stage := range Stages() {
		title := stage.String()
		fmt.Fprintf(&b, "\n## Stage %02d: %s\n", int(stage), title)
		for _, e := range Table() {
			if e.Stage() == stage {
				writeEntry(&b, e)
			}
		}
	}
	return b.String()
}

func writeEntry(b *strings.Builder, e Entry) {
	fmt.Fprintf(b, "\n### %s\n\n`%s`: %s.\n\n", e.Code, e.Name, e.Sentence)
	fmt.Fprintf(b, "- What follows: %s\n- Evidence: %s.\n", e.Means, e.Seen)
	if e.Advice != "" {
		fmt.Fprintf(b, "- Mend: %s\n", e.Advice)
	}
	if len(e.Related) > 0 {
		fmt.Fprintf(b, "- The manager names it by: %s.\n", strings.Join(related(e), ", "))
	}
	if len(e.Behind) > 0 {
		var links []string
		for _, code := range e.Behind {
			links = append(links, fmt.Sprintf("[%s](#%s)", code, strings.ToLower(string(code))))
		}
		fmt.Fprintf(b, "- Left out where one of these explains it: %s.\n", strings.Join(links, ", "))
	}
	fmt.Fprintf(b, "\n```sh\n# not run: mends a case that a healthy cluster does not have\n%s\n```\n", e.Mend)
}

// related returns what names the same, with links to the pages of alerts.
func related(e Entry) []string {
	var out []string
	for _, name := range e.Related {
		if alert, ok := strings.CutPrefix(name, "alert "); ok {
			out = append(out, fmt.Sprintf("alert [%s](../runbooks/%[1]s.md)", alert))
			continue
		}
		if event, ok := strings.CutPrefix(name, "event "); ok {
			out = append(out, "event `"+event+"`")
			continue
		}
		out = append(out, "`"+strings.ReplaceAll(name, " ", "` `")+"`")
	}
	return out
}

func TestTheTableIsWhole(t *testing.T) {
	names := map[string]bool{}
	last := Code("")
	for _, e := range Table() {
		if e.Code <= last || !regexp.MustCompile(`^WVA0[1-9]\d\d$`).MatchString(string(e.Code)) {
			t.Errorf("%s after %s: want codes in order", e.Code, last)
		}
		last = e.Code
		if names[e.Name] || !regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`).MatchString(e.Name) {
			t.Errorf("%s: the name %q is not one in lower case with dashes, or is taken", e.Code, e.Name)
		}
		names[e.Name] = true
		if e.Sentence == "" || e.Means == "" || e.Seen == "" || e.Mend == "" {
			t.Errorf("%s is not whole: %+v", e.Code, e)
		}
		if strings.HasSuffix(e.Sentence, ".") || !strings.HasSuffix(e.Means, ".") || strings.HasSuffix(e.Seen, ".") {
			t.Errorf("%s: a sentence and what is evidence end without a full stop, what follows with one", e.Code)
		}
		for _, behind := range e.Behind {
			if !Known(behind) || behind == e.Code {
				t.Errorf("%s is explained by %s, which is no other finding", e.Code, behind)
			}
		}
	}
}

// TestRelatedNamesExist holds the conditions, events and alerts of the table against the code and the runbooks.
func TestRelatedNamesExist(t *testing.T) {
	conditions := read(t, "../../api/v1alpha1/conditions.go")
	events := read(t, "../controller/events.go")
	for _, e := range Table() {
		for _, name := range e.Related {
			kind, rest, ok := strings.Cut(name, " ")
			switch {
			case !ok:
				t.Errorf("%s: %q: want a condition and its reason, an event or an alert", e.Code, name)
			case kind == "alert":
				if _, err := os.Stat(filepath.Join("..", "..", "docs", "runbooks", rest+".md")); err != nil {
					t.Errorf("%s: %v", e.Code, err)
				}
			case kind == "event":
				if !strings.Contains(events, `"`+rest+`"`) {
					t.Errorf("%s: there is no event %s", e.Code, rest)
				}
			case !strings.Contains(conditions, `= "`+kind+`"`) || !strings.Contains(conditions, `= "`+rest+`"`):
				t.Errorf("%s: there is no condition %s with the reason %s", e.Code, kind, rest)
			}
		}
	}
}

// TestEveryFindingIsOfACheckOfItsStage holds the checks against the table: each finding is made by
// a check that says so.
func TestEveryFindingIsOfACheckOfItsStage(t *testing.T) {
	made := []Code{"WVA0102"}
	for _, look := range checks() {
		made = append(made, look.codes...)
		for _, code := range look.codes {
			if code.stage() != look.codes[0].stage() {
				t.Errorf("check %s makes findings of two stages: %v", look.name, look.codes)
			}
		}
	}
	for _, e := range Table() {
		if !slices.Contains(made, e.Code) {
			t.Errorf("no check makes %s", e.Code)
		}
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
