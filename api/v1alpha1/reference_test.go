package v1alpha1_test

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"text/template"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/goldentest"
)

var update = flag.Bool("update", false, "rewrite the reference of the resource")

// reference is the page for users.
const reference = "../../docs/user-guide/crd-reference.md"

// What the page says of the resource, from its definition and from the constants of
// this package with their comments.
type (
	fieldReference struct{ Path, Type, Default, Accepts, Meaning string }

	constant struct{ Value, Meaning string }

	// reasonReference is a reason with the statuses that it comes with.
	reasonReference struct{ Value, Status, Meaning string }

	conditionReference struct {
		constant
		Reasons []reasonReference
	}
)

func TestReferenceIsGeneratedFromTheDefinition(t *testing.T) {
	v1 := definition(t).Spec.Versions[0]
	root := v1.Schema.OpenAPIV3Schema.Properties
	source := readSource(t)
	page, err := template.New("crd-reference.md.tmpl").Funcs(template.FuncMap{
		"cell": func(text string) string { return strings.ReplaceAll(text, "|", "\\|") },
	}).ParseFiles("testdata/crd-reference.md.tmpl")
	if err != nil {
		t.Fatal(err)
	}
	var want bytes.Buffer
	if err := page.Execute(&want, map[string]any{
		"Spec":        fields("", reflect.TypeFor[v1alpha1.VariantAutoscalingSpec](), root["spec"]),
		"Status":      fields("", reflect.TypeFor[v1alpha1.VariantAutoscalingStatus](), root["status"]),
		"Rules":       root["spec"].XValidations,
		"Columns":     v1.AdditionalPrinterColumns,
		"Conditions":  source.conditions(t),
		"Labels":      source.group("Labels read"),
		"Annotations": source.group("Annotations read"),
		"Legacy":      source.group("Labels that older"),
	}); err != nil {
		t.Fatal(err)
	}
	goldentest.Generated(t, reference, want.Bytes(), *update)
}

func TestObjectsOfTheReferenceAreAccepted(t *testing.T) {
	page, err := os.ReadFile(reference)
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(page, -1)
	if len(blocks) == 0 {
		t.Fatal("the page shows no object")
	}
	for _, block := range blocks {
		if dropped, errs := newServer(t).admit(t, parse(t, block[1])); len(dropped) > 0 || errs != "" {
			t.Errorf("dropped %q, refused with %q:\n%s", dropped, errs, block[1])
		}
	}
}

// fields lists what an object holds, in the order of its Go type. Conditions are
// those of Kubernetes, and told by themselves.
func fields(path string, of reflect.Type, schema apiextensionsv1.JSONSchemaProps) []fieldReference {
	var out []fieldReference
	for field := range of.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		inner, props := field.Type, schema.Properties[name]
		at, kind := path+name, typeOf(props)
		out = append(out, fieldReference{at, kind, defaultOf(props), accepts(schema, name), meaning(props.Description)})
		switch {
		case name == "conditions":
		case kind == "object":
			out = append(out, fields(at+".", inner.Elem(), props)...)
		case kind == "list":
			out = append(out, fields(at+"[].", inner.Elem(), *props.Items.Schema)...)
		}
	}
	return out
}

func typeOf(props apiextensionsv1.JSONSchemaProps) string {
	switch {
	case props.AdditionalProperties != nil:
		return "map of strings"
	case props.Type == "array":
		return "list"
	case props.Format == "date-time":
		return "time"
	}
	return props.Type
}

func defaultOf(props apiextensionsv1.JSONSchemaProps) string {
	if props.Default == nil {
		return ""
	}
	return "`" + string(props.Default.Raw) + "`"
}

// accepts says what the server asks of a property, beyond its type.
func accepts(parent apiextensionsv1.JSONSchemaProps, name string) string {
	props, out := parent.Properties[name], []string(nil)
	for _, required := range parent.Required {
		if required == name {
			out = append(out, "required")
		}
	}
	if props.Minimum != nil {
		out = append(out, fmt.Sprintf("%g or more", *props.Minimum))
	}
	if props.Pattern != "" {
		out = append(out, "`"+props.Pattern+"`")
	}
	for _, least := range []*int64{props.MinLength, props.MinItems, props.MinProperties} {
		if least != nil {
			out = append(out, "not empty")
		}
	}
	return strings.Join(out, ", ")
}

// meaning returns a description without the name that every one begins with, and
// without an "is" after it: the name stands beside it.
func meaning(description string) string {
	_, rest, _ := strings.Cut(strings.Join(strings.Fields(description), " "), " ")
	rest = strings.TrimPrefix(strings.TrimPrefix(rest, "is "), "are ")
	return strings.ToUpper(rest[:1]) + rest[1:]
}

// source is the constants of this package.
type source struct {
	groups map[string][]*ast.ValueSpec // by the comment of their declaration, in their order
	values map[string]string           // by name
}

func readSource(t *testing.T) source {
	t.Helper()
	out := source{groups: map[string][]*ast.ValueSpec{}, values: map[string]string{}}
	for _, name := range []string{"conditions.go", "labels.go", "legacy.go"} {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			group, ok := decl.(*ast.GenDecl)
			if !ok || group.Tok != token.CONST {
				continue
			}
			for _, spec := range group.Specs {
				of := spec.(*ast.ValueSpec)
				value, err := strconv.Unquote(of.Values[0].(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				out.groups[group.Doc.Text()] = append(out.groups[group.Doc.Text()], of)
				out.values[of.Names[0].Name] = value
			}
		}
	}
	return out
}

// group returns the constants of the one declaration whose comment begins so.
func (s source) group(begins string) []constant {
	var out []constant
	for comment, specs := range s.groups {
		if !strings.HasPrefix(comment, begins) {
			continue
		}
		for _, of := range specs {
			out = append(out, constant{s.values[of.Names[0].Name], s.text(of)})
		}
	}
	return out
}

// text returns the comment of a constant in a line, with values for the names of
// constants, and in code.
func (s source) text(of *ast.ValueSpec) string {
	values := map[string]string{}
	for name, value := range s.values {
		values[name], values[value] = value, value
	}
	return regexp.MustCompile(`[A-Z]\w+`).ReplaceAllStringFunc(strings.Join(strings.Fields(of.Doc.Text()), " "), func(word string) string {
		if value, ok := values[word]; ok {
			return "`" + value + "`"
		}
		return word
	})
}

// conditions returns the condition types with their reasons, which a comment
// "Reasons of TYPE." is over.
func (s source) conditions(t *testing.T) []conditionReference {
	t.Helper()
	var out []conditionReference
	for _, c := range s.group("The conditions.") {
		c.Meaning, _, _ = strings.Cut(c.Meaning, " Reasons: ")
		of := conditionReference{constant: c}
		for _, reason := range s.group("Reasons of " + c.Value + ".") {
			found := regexp.MustCompile("^`\\w+` \\(([^)]+)\\): (.+)$").FindStringSubmatch(reason.Meaning)
			if found == nil {
				t.Fatalf("the comment of %s is %q, want NAME (STATUS): MEANING", reason.Value, reason.Meaning)
			}
			of.Reasons = append(of.Reasons, reasonReference{reason.Value, found[1], strings.ToUpper(found[2][:1]) + found[2][1:]})
		}
		if len(of.Reasons) == 0 {
			t.Fatalf("no constants have the comment \"Reasons of %s.\"", c.Value)
		}
		out = append(out, of)
	}
	return out
}
