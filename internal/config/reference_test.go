package config

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

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/goldentest"
)

var update = flag.Bool("update", false, "rewrite the configuration reference")

// reference is the page for users.
const reference = "../../docs/reference/configuration.md"

// kindReference documents the ConfigMaps of one kind.
type kindReference struct {
	Title, Form, Where string
	Names              []string
	Keys               []Key
}

// processReference documents a setting that no ConfigMap has.
type processReference struct{ Flag, Variable, Default, Accepts, Meaning string }

// What the page says of each kind beside its keys. Kinds without an entry fail the
// test.
var forms = map[Kind]kindReference{
	KindServiceClasses: {
		Form:  "Each key holds a service class as YAML: what requests of models should meet.",
		Where: "A model's class is the one that `sloClassRef` of its VariantAutoscalings names (of several the most important), else that of the first row for its namespace and ID, its ID, `default/default` of its namespace, `default/default`. A class in the namespace of a model overrides that of the system namespace field by field.",
	},
	KindUnitCosts: {
		Form:  "Each key is an accelerator type and holds JSON.",
		Where: "A replica costs `variantCost` where that is set and not 10, else the unit cost times its accelerators, else 10. An entry in the namespace of a model overrides that of the system namespace field by field.",
	},
	KindScaleToZero: {
		Form:  "Each key holds an entry as YAML. `__defaults__` or `default` is for every model.",
		Where: "Each field by itself: the entry for namespace and model, for the model, the defaults, `WVA_SCALE_TO_ZERO`. A ConfigMap in the namespace of a model overrides that of the system namespace.",
	},
	KindSaturation: {
		Form:  "Each key holds an entry as YAML. `default` is for every model; another names a model, a namespace or both.",
		Where: "An entry changes the fields that it names and inherits the rest. A ConfigMap in the namespace of a model overrides that of the system namespace.",
	},
	KindQuota: {Form: "The key `quotas` holds YAML.", Where: "Read in the system namespace only."},
	KindSchedule: {
		Form:  "Each key holds a freeze window as YAML: times in which replicas do not change, or only grow ([how](../features/approval-and-schedules.md)).",
		Where: "All windows hold; where they overlap, the strictest does. A ConfigMap in the namespace of a model adds windows for that namespace.",
	},
}

func TestConfigurationReferenceIsGeneratedFromTheCatalogue(t *testing.T) {
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	settings := define(fs, &Operator{})
	flags := map[string]string{}
	var process []processReference
	live := keys(settingFields())
	for _, s := range settings {
		flags[s.env] = s.flag
		if slices.ContainsFunc(live, func(k Key) bool { return k.Name == s.env }) {
			continue
		}
		f := fs.Lookup(s.flag)
		process = append(process, processReference{Flag: s.flag, Variable: s.env, Default: f.DefValue, Accepts: s.accepts, Meaning: f.Usage})
	}
	var kinds []kindReference
	for _, kind := range Kinds()[1:] {
		of, ok := forms[kind]
		if !ok {
			t.Fatalf("the page says nothing of the form of %s", kind)
		}
		of.Title, of.Names = string(kind), PublishedNames()[kind]
		for _, k := range Catalogue() {
			if k.In == kind {
				of.Keys = append(of.Keys, k)
			}
		}
		kinds = append(kinds, of)
	}
	var published []struct{ Name, Replaced string }
	for _, p := range publishedSettings() {
		var names []string
		if p.flag != "" {
			names = append(names, "`--"+p.flag+"`")
		}
		if p.env != "" {
			names = append(names, "`"+p.env+"`")
		}
		published = append(published, struct{ Name, Replaced string }{strings.Join(names, ", "), p.replaced})
	}
	cell := func(text string) string { return strings.ReplaceAll(text, "|", "\\|") }
	page, err := template.New("configuration.md.tmpl").Funcs(template.FuncMap{
		"names": func(names []string) string { return "`" + strings.Join(names, "`, `") + "`" },
		"cell":  cell, "flag": func(name string) string { return flags[name] },
		"code": func(text string) string {
			if text == "" {
				return ""
			}
			return "`" + cell(text) + "`"
		},
	}).ParseFiles("testdata/configuration.md.tmpl")
	if err != nil {
		t.Fatal(err)
	}
	var want bytes.Buffer
	if err := page.Execute(&want, struct {
		Settings kindReference
		Process  []processReference
		Kinds    []kindReference
		// Published are the names that only earlier versions had.
		Published []struct{ Name, Replaced string }
	}{kindReference{Names: PublishedNames()[KindSettings], Keys: live}, process, kinds, published}); err != nil {
		t.Fatal(err)
	}
	goldentest.Generated(t, reference, want.Bytes(), *update)
}

// TestConfigurationReferenceListsWhatIsRead asks what is read and not the catalogue.
func TestConfigurationReferenceListsWhatIsRead(t *testing.T) {
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	define(fs, &Operator{})
	definePublished(fs, publishedSettings())
	var flags []string
	fs.VisitAll(func(f *flag.Flag) { flags = append(flags, f.Name) })
	if diff := cmp.Diff(flags, sorted(t, "\\| `--([a-z0-9-]+)`(?:, `[A-Z_]+`)? \\|")); diff != "" {
		t.Errorf("flags (-defined +listed):\n%s", diff)
	}
	var names []string
	for _, all := range PublishedNames() {
		names = append(names, all...)
	}
	for _, name := range names {
		if !strings.Contains(readReference(t), "`"+name+"`") {
			t.Errorf("ConfigMap %s is not on the page", name)
		}
	}
}

// sorted returns what a pattern finds on the page, in order.
func sorted(t *testing.T, pattern string) []string {
	t.Helper()
	var out []string
	for _, found := range regexp.MustCompile(pattern).FindAllStringSubmatch(readReference(t), -1) {
		out = append(out, found[1])
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func readReference(t *testing.T) string {
	t.Helper()
	content, err := os.ReadFile(reference)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
