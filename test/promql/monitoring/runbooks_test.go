package monitoring

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestEveryAlertHasARunbook holds alerts and pages to each other, and a page to what
// an operator on call looks for.
func TestEveryAlertHasARunbook(t *testing.T) {
	const folder = "../../../docs/runbooks/"
	pages := map[string]bool{}
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		pages[strings.TrimSuffix(e.Name(), ".md")] = true
	}
	delete(pages, "README")
	alerts, _, _, err := Read(home + "rules/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range alerts {
		delete(pages, a.Name)
		if !strings.HasSuffix(a.Annotations["runbook_url"], "/docs/runbooks/"+a.Name+".md") {
			t.Errorf("the runbook of %s is %q", a.Name, a.Annotations["runbook_url"])
		}
		if s := a.Labels["severity"]; s != "critical" && s != "warning" {
			t.Errorf("the severity of %s is %q, want critical or warning", a.Name, s)
		}
		text, err := os.ReadFile(folder + a.Name + ".md")
		if err != nil {
			t.Error(err)
			continue
		}
		for _, heading := range []string{"# " + a.Name, "## Meaning", "## Impact", "## What to look at", "## Remedy"} {
			if !strings.Contains("\n"+string(text), "\n"+heading+"\n") {
				t.Errorf("the runbook of %s has no %q", a.Name, heading)
			}
		}
	}
	for page := range pages {
		t.Errorf("docs/runbooks/%s.md is of no alert", page)
	}
}

// TestRunbooksNameOnlyWhatThereIs holds the pages to the metrics, the panels, the
// reasons and the commands that they name.
func TestRunbooksNameOnlyWhatThereIs(t *testing.T) {
	pages, err := filepath.Glob(repository + "docs/runbooks/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("no runbooks: %v", err)
	}
	there := whatThereIs(t)
	for _, page := range pages {
		there.hold(t, strings.TrimPrefix(page, repository))
	}
}

// repository is the path to the root of the repository.
const repository = "../../../"

// text returns a file of the repository.
func text(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(repository + file)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// names are those that a page may use.
type names struct {
	metrics, titles, reasons map[string]bool
	cli                      string // the reference of the commands
}

func whatThereIs(t *testing.T) names {
	t.Helper()
	n := names{metrics: exported(t), titles: map[string]bool{}, reasons: map[string]bool{}, cli: text(t, "docs/reference/cli.md")}
	for _, file := range ruleFiles() {
		_, records, _, err := Read(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range records {
			n.metrics[name] = true
		}
	}
	for _, board := range boards(t) {
		n.titles[board.Title] = true
		for _, p := range board.Pictures() {
			n.titles[p.Title] = true
		}
	}
	for _, file := range []string{"internal/scaling/decision.go", "api/v1alpha1/conditions.go"} {
		for _, found := range regexp.MustCompile(`= "([A-Z][A-Za-z]+)"`).FindAllStringSubmatch(text(t, file), -1) {
			n.reasons[found[1]] = true
		}
	}
	return n
}

// hold complains of what a page names and there is not.
func (n names) hold(t *testing.T, page string) {
	t.Helper()
	written := text(t, page)
	_, remedy, _ := strings.Cut(written, "## Remedy")
	for _, c := range []struct {
		what, in string
		pattern  *regexp.Regexp
		known    map[string]bool
	}{
		{"metric", written, regexp.MustCompile("`([a-z_]*:?wva_[a-z0-9_:]+)`"), n.metrics},
		{"panel or dashboard", written, regexp.MustCompile(`\*([A-Z][^*\n]+)\*`), n.titles},
		{"reason", remedy, regexp.MustCompile("(?m)^\\| `([A-Z][A-Za-z]+)`"), n.reasons},
	} {
		for _, found := range c.pattern.FindAllStringSubmatch(c.in, -1) {
			if !c.known[found[1]] {
				t.Errorf("%s: there is no %s %s", page, c.what, found[1])
			}
		}
	}
	for _, command := range regexp.MustCompile(`(?m)^wva ([a-z]+)([^#\n]*)`).FindAllStringSubmatch(written, -1) {
		_, section, found := strings.Cut(n.cli, "\n## wva "+command[1]+"\n")
		if !found {
			t.Errorf("%s: there is no command wva %s", page, command[1])
		}
		section, _, _ = strings.Cut(section, "\n## ")
		for _, flag := range regexp.MustCompile(` (--?[a-z-]+)`).FindAllStringSubmatch(command[2], -1) {
			if !strings.Contains(section, "| `"+flag[1]+"`") && !strings.Contains(section, "| `"+flag[1]+",") {
				t.Errorf("%s: wva %s has no flag %s", page, command[1], flag[1])
			}
		}
	}
}
