package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// otherNames are those of something else.
var otherNames = []string{
	"WVA_SHARED",               // recorded data, for tests
	"CONTROLLER_TRIGGER_LOGIC", // a document
	"GLOBAL_OPT_INTRVAL",       // a mistake that is made on purpose
}

// TestNamesAreThoseOfTheReferences holds every metric and setting that a page names
// against the references, which are generated.
func TestNamesAreThoseOfTheReferences(t *testing.T) {
	pages := read(t)
	for _, tt := range []struct {
		references []string
		names      *regexp.Regexp
	}{
		{[]string{"docs/reference/metrics.md"}, regexp.MustCompile(`[a-z0-9_:]*\bwva_[a-z0-9_:]*[a-z]`)},
		{
			[]string{"docs/reference/configuration.md", "docs/reference/cli.md"},
			regexp.MustCompile(`\b(WVA|PROMETHEUS|EPP|SCRAPE|GLOBAL|COLLECTOR|CONTROLLER|EXTERNAL|LEADER|LEGACY|RECORD)_[A-Z_]+[A-Z]\b`),
		},
	} {
		known := otherNames
		for _, reference := range tt.references {
			names := tt.names.FindAllString(source(t, reference), -1)
			if len(names) == 0 {
				t.Errorf("%s has no names", reference)
			}
			known = slices.Concat(known, names)
		}
		for _, p := range pages {
			for n, line := range strings.Split(source(t, p.Path), "\n") {
				for _, name := range tt.names.FindAllString(line, -1) {
					for _, suffix := range []string{"_bucket", "_count", "_sum"} {
						name = strings.TrimSuffix(name, suffix)
					}
					if !strings.Contains(name, ":") && !slices.Contains(known, name) { // with a colon, a recording rule's
						t.Errorf("%s:%d names %s, which is not in %s", p.Path, n+1, name, strings.Join(tt.references, ", "))
					}
				}
			}
		}
	}
}

// source returns the text of a page.
func source(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(page)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
