package record

import (
	"bytes"
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/goldentest"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/record/recordtest"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

var update = flag.Bool("update", false, "rewrite the JSON schema")

// schemaFile is the schema for users.
const schemaFile = "../../docs/reference/record.schema.json"

// schema is a part of a JSON schema, draft 2020-12.
type schema struct {
	Schema      string             `json:"$schema,omitempty"`
	Title       string             `json:"title,omitempty"`
	Description string             `json:"description,omitempty"`
	Ref         string             `json:"$ref,omitempty"`
	Type        any                `json:"type,omitempty"` // a name, or several
	Format      string             `json:"format,omitempty"`
	Pattern     string             `json:"pattern,omitempty"`
	Const       any                `json:"const,omitempty"`
	Enum        []string           `json:"enum,omitempty"`
	AnyOf       []*schema          `json:"anyOf,omitempty"`
	Items       *schema            `json:"items,omitempty"`
	Properties  map[string]*schema `json:"properties,omitempty"`
	Required    []string           `json:"required,omitempty"`
	Additional  *bool              `json:"additionalProperties,omitempty"`
	Defs        map[string]*schema `json:"$defs,omitempty"`
}

// required are the members without which nothing can be decided.
var required = map[reflect.Type][]string{
	reflect.TypeFor[Cycle]():                 {"now"},
	reflect.TypeFor[scaling.ModelKey]():      {"namespace", "id"},
	reflect.TypeFor[scaling.VariantKey]():    {"namespace", "name"},
	reflect.TypeFor[scaling.Snapshot]():      {"model"},
	reflect.TypeFor[scaling.Variant]():       {"key", "model"},
	reflect.TypeFor[scaling.ReplicaSample](): {"variant"},
}

// describer makes the schema of what the forms of a builder write, described in
// the words of the types' comments.
type describer struct {
	builder *builder
	source  source
	defs    map[string]*schema
}

func (d *describer) of(t reflect.Type) *schema {
	switch f := d.builder.of(t).(type) {
	case boolForm:
		return &schema{Type: "boolean"}
	case intForm:
		return &schema{Type: "integer"}
	case floatForm:
		return &schema{AnyOf: []*schema{{Type: "number"}, {Enum: []string{"NaN", "+Inf", "-Inf"}}}}
	case textForm:
		return &schema{Type: "string"}
	case wordForm:
		return &schema{Enum: append([]string{""}, f...)}
	case freshnessForm:
		return &schema{Enum: states}
	case durationForm:
		return &schema{Type: "string", Pattern: `^-?(0|([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+)$`}
	case timeForm:
		return &schema{Type: "string", Format: "date-time"}
	case pointerForm:
		return d.of(t.Elem())
	case listForm:
		return &schema{Type: []string{"array", "null"}, Items: d.of(t.Elem())}
	case structForm:
		return d.reference(t, func() *schema { return d.object(t, f) })
	case readingForm:
		return d.reference(t, func() *schema {
			return &schema{AnyOf: []*schema{{Type: "number"}, {Enum: states}, d.object(t, f.object)}}
		})
	default: // a map
		value := d.object(t.Elem(), d.builder.of(t.Elem()).(structForm))
		key := "variant"
		if t.Key() == reflect.TypeFor[scaling.ModelKey]() {
			key = "model"
		}
		value.Properties[key] = d.of(t.Key())
		value.Required = append(value.Required, key)
		return &schema{Type: []string{"array", "null"}, Items: value}
	}
}

// reference returns a reference to the definition of a type.
func (d *describer) reference(t reflect.Type, define func() *schema) *schema {
	name := t.String()
	if _, ok := d.defs[name]; !ok {
		s := define()
		s.Description = d.source.types[name]
		d.defs[name] = s
	}
	return &schema{Ref: "#/$defs/" + name}
}

func (d *describer) object(t reflect.Type, f structForm) *schema {
	closed := false
	s := &schema{Type: "object", Properties: map[string]*schema{}, Required: required[t], Additional: &closed}
	for _, m := range f.members {
		field, in := t.FieldByIndex(m.index), t
		if n := len(m.index); n > 1 {
			in = t.FieldByIndex(m.index[:n-1]).Type
		}
		p := d.of(field.Type)
		p.Description = d.source.fields[in.String()+"."+field.Name]
		s.Properties[m.name] = p
	}
	return s
}

func generateSchema(t *testing.T) *schema {
	t.Helper()
	d := describer{builder: newBuilder(), source: readSource(t), defs: map[string]*schema{}}
	root := d.of(reflect.TypeFor[Cycle]())
	d.defs["record.Cycle"].Properties["format"].Const = Format
	d.defs["scaling.Bounds"].Properties["max"].Description = "Max is left out where there is none."
	root.Schema, root.Title, root.Defs = "https://json-schema.org/draft/2020-12/schema", "A cycle of the Workload Variant Autoscaler", d.defs
	return root
}

func TestTheSchemaIsGeneratedFromTheTypes(t *testing.T) {
	var want bytes.Buffer
	e := json.NewEncoder(&want)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(generateSchema(t)); err != nil {
		t.Fatal(err)
	}
	goldentest.Generated(t, schemaFile, want.Bytes(), *update)
}

func TestTheSchemaStatesAUnitForEveryNumber(t *testing.T) {
	for name, def := range generateSchema(t).Defs {
		for field, p := range def.Properties {
			isNumber := p.Type == "integer" || len(p.AnyOf) > 0 || p.Pattern != ""
			if isNumber && p.Description == "" && def.Description == "" {
				t.Errorf("%s.%s: neither the field nor its type has a comment", name, field)
			}
		}
	}
}

func TestWhatIsWrittenFollowsTheSchema(t *testing.T) {
	root := generateSchema(t)
	check := func(t *testing.T, text []byte) {
		t.Helper()
		var value any
		if err := json.Unmarshal(text, &value); err != nil {
			t.Fatal(err)
		}
		if why := violates(root, root, value, "record"); why != "" {
			t.Errorf("%s in:\n%s", why, text)
		}
	}
	text, err := os.ReadFile("testdata/case.json")
	if err != nil {
		t.Fatal(err)
	}
	check(t, text)
	check(t, fleet(10).Append(nil))
	for seed := range uint64(50) {
		var c Cycle
		recordtest.Filler{Rand: rand.New(rand.NewPCG(seed, 3)), Zeros: float64(seed%3) / 3}.Fill(&c)
		c.Format, c.Now = Format, time.Unix(1, 0)
		check(t, c.Append(nil))
	}
	// And the check itself sees what is wrong.
	if why := violates(root, root, map[string]any{"now": "2026-11-20T12:00:00Z", "moon": 1.0}, "record"); why != "record.moon: is not in the schema" {
		t.Errorf("got %q of a field that does not exist", why)
	}
	if why := violates(root, root, map[string]any{"now": 5.0}, "record"); why != "record.now: 5 is no string" {
		t.Errorf("got %q of a number for a time", why)
	}
}

// violates says what of a value is not as a schema wants it, or returns "". It
// knows of schemas what those here use.
func violates(root, s *schema, value any, at string) string {
	if name, ok := strings.CutPrefix(s.Ref, "#/$defs/"); ok {
		return violates(root, root.Defs[name], value, at)
	}
	if len(s.AnyOf) > 0 {
		var whys []string
		for _, one := range s.AnyOf {
			why := violates(root, one, value, at)
			if why == "" {
				return ""
			}
			whys = append(whys, why)
		}
		return strings.Join(whys, ", and ")
	}
	text, _ := value.(string)
	if s.Enum != nil && !slices.Contains(s.Enum, text) {
		return at + ": is none of " + strings.Join(s.Enum, ", ")
	}
	switch v := value.(type) {
	case []any:
		for i, item := range v {
			if s.Items == nil {
				return at + ": is a list"
			}
			if why := violates(root, s.Items, item, at+"["+strconv.Itoa(i)+"]"); why != "" {
				return why
			}
		}
		return ""
	case map[string]any:
		for name, member := range v {
			p, ok := s.Properties[name]
			if !ok {
				return at + "." + name + ": is not in the schema"
			}
			if why := violates(root, p, member, at+"."+name); why != "" {
				return why
			}
		}
		for _, name := range s.Required {
			if _, ok := v[name]; !ok {
				return at + "." + name + ": is missing"
			}
		}
		return ""
	}
	kinds := map[string]reflect.Kind{"string": reflect.String, "boolean": reflect.Bool, "number": reflect.Float64, "integer": reflect.Float64}
	if name, ok := s.Type.(string); ok && kinds[name] != reflect.TypeOf(value).Kind() {
		return at + ": " + strings.TrimSpace(string(mustJSON(value))) + " is no " + name
	}
	return ""
}

func mustJSON(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return text
}

// source is what the comments of the types say, and which constants they have.
type source struct {
	types     map[string]string   // by package.Type
	fields    map[string]string   // by package.Type.Field
	constants map[string][]string // by package.Type, as they are written
}

func readSource(t *testing.T) source {
	t.Helper()
	s := source{map[string]string{}, map[string]string{}, map[string][]string{}}
	for _, dir := range []string{".", "../scaling", "../scaling/memory", "../saturation", "../constrain", "../queueing", "../settings"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			s.add(file)
		}
	}
	return s
}

func (s source) add(file *ast.File) {
	pkg := file.Name.Name + "."
	for _, decl := range file.Decls {
		gen, ok := decl.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range gen.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				s.types[pkg+spec.Name.Name] = words(gen.Doc)
				if t, ok := spec.Type.(*ast.StructType); ok {
					s.addFields(pkg+spec.Name.Name, t)
				}
			case *ast.ValueSpec:
				if of, ok := spec.Type.(*ast.Ident); ok && len(spec.Values) == 1 {
					if literal, ok := spec.Values[0].(*ast.BasicLit); ok {
						s.constants[pkg+of.Name] = append(s.constants[pkg+of.Name], literal.Value)
					}
				}
			}
		}
	}
}

// addFields takes the comments of fields. One that names the next field too is
// for both.
func (s source) addFields(of string, t *ast.StructType) {
	last := ""
	for _, f := range t.Fields.List {
		for _, name := range f.Names {
			comment := strings.TrimSpace(words(f.Doc) + " " + words(f.Comment))
			if comment == "" && slices.Contains(strings.Fields(last), name.Name) {
				comment = last
			}
			s.fields[of+"."+name.Name], last = comment, comment
		}
	}
}

// words is a comment as one line.
func words(c *ast.CommentGroup) string { return strings.Join(strings.Fields(c.Text()), " ") }

func TestEveryWordOfATypeIsAccepted(t *testing.T) {
	s := readSource(t)
	for of, form := range newBuilder().forms {
		accepted, ok := form.(wordForm)
		if !ok {
			continue
		}
		var want []string
		for _, literal := range s.constants[of.String()] {
			if word, err := strconv.Unquote(literal); err != nil {
				t.Fatal(err)
			} else if word != "" {
				want = append(want, word)
			}
		}
		if diff := cmp.Diff(want, []string(accepted)); diff != "" {
			t.Errorf("constants of %s (-), words that are read (+):\n%s", of, diff)
		}
	}
}
