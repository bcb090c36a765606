package metrics

import (
	"bytes"
	"flag"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/goldentest"
)

var update = flag.Bool("update", false, "rewrite the metrics reference")

// reference is the page for users.
const reference = "../../docs/reference/metrics.md"

func TestReferenceIsGeneratedFromTheCatalogue(t *testing.T) {
	page, err := template.ParseFiles("testdata/reference.md.tmpl")
	if err != nil {
		t.Fatal(err)
	}
	var want bytes.Buffer
	err = page.Execute(&want, struct{ Decisions, Health, Legacy []Instrument }{decisionInstruments(), healthInstruments(), legacyInstruments()})
	if err != nil {
		t.Fatal(err)
	}
	goldentest.Generated(t, reference, want.Bytes(), *update)
}

// TestReferenceListsWhatIsRegistered asks the registry and not the catalogue.
func TestReferenceListsWhatIsRegistered(t *testing.T) {
	reg := &descriptions{}
	New(reg, stopped(start), Options{LegacyNames: true})
	slices.Sort(reg.names)
	var listed []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| (?:gauge|counter|histogram) \\|").FindAllStringSubmatch(readReference(t), -1) {
		listed = append(listed, row[1])
	}
	slices.Sort(listed)
	if diff := cmp.Diff(reg.names, listed); diff != "" {
		t.Errorf("registered and not listed (-), listed and not registered (+):\n%s", diff)
	}
}

func TestReferenceExplainsEveryLabelAndNoOther(t *testing.T) {
	_, glossary, found := strings.Cut(readReference(t), "\n## Labels\n")
	if !found {
		t.Fatal("no section Labels")
	}
	var explained []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\|").FindAllStringSubmatch(glossary, -1) {
		explained = append(explained, row[1])
	}
	used := []string{LabelControllerInstance}
	for _, i := range append(Catalogue(), legacyInstruments()...) {
		used = append(used, i.Labels...)
	}
	slices.Sort(used)
	if diff := cmp.Diff(slices.Compact(used), explained); diff != "" {
		t.Errorf("used and not explained (-), explained and not used (+), or not sorted:\n%s", diff)
	}
}

func readReference(t *testing.T) string {
	t.Helper()
	content, err := os.ReadFile(reference)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// descriptions is a registerer that notes the names of what it is given.
type descriptions struct {
	prometheus.Registerer // what is not needed here panics
	names                 []string
}

func (d *descriptions) MustRegister(collectors ...prometheus.Collector) {
	name := regexp.MustCompile(`fqName: "([^"]*)"`)
	for _, c := range collectors {
		descs := make(chan *prometheus.Desc, 100)
		c.Describe(descs)
		close(descs)
		for desc := range descs {
			d.names = append(d.names, name.FindStringSubmatch(desc.String())[1])
		}
	}
}

func (d *descriptions) Register(c prometheus.Collector) error {
	d.MustRegister(c)
	return nil
}
