package docs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/format"
	"os/exec"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
)

func TestBlocksParse(t *testing.T) {
	blocks := 0
	for _, p := range read(t) {
		for _, b := range p.Blocks {
			blocks++
			if err := check(t.Context(), b); err != nil {
				t.Errorf("%s:%d: %v", p.Path, b.Line, err)
			}
		}
	}
	if blocks == 0 {
		t.Error("no fenced blocks found")
	}
}

// check says what is wrong with a fenced block. Expressions of PromQL are read by
// test/promql, which has their parser.
func check(ctx context.Context, b Block) error {
	switch b.Language {
	case "":
		if strings.HasPrefix(b.Text, "$ ") {
			return errors.New("a command with its output is console")
		}
		return nil
	case "text", "mermaid", "promql":
		return nil
	case "sh":
		return checkShell(ctx, b)
	case "console":
		if !strings.HasPrefix(b.Text, "$ ") {
			return errors.New("console begins with a command, after a $; output alone has no language")
		}
		return nil
	case "json":
		if !json.Valid([]byte(b.Text)) {
			return errors.New("not valid JSON")
		}
		return nil
	case "yaml":
		return checkYAML(b.Text)
	case "go":
		return checkGo(b.Text)
	}
	return fmt.Errorf("language %q: want sh, console, yaml, promql, json, go, mermaid or none", b.Language)
}

func checkShell(ctx context.Context, b Block) error {
	first, _, _ := strings.Cut(b.Text, "\n")
	if strings.HasPrefix(strings.ToLower(strings.ReplaceAll(first, " ", "")), "#notrun") && b.NotRun() == "" {
		return fmt.Errorf("%q: want %q and a reason", first, notRun)
	}
	for line := range strings.Lines(b.Text) {
		if strings.HasPrefix(line, "$ ") {
			return fmt.Errorf("%q cannot be copied: without the $, or as console", strings.TrimSpace(line))
		}
	}
	command := exec.CommandContext(ctx, "bash", "-n")
	command.Stdin = strings.NewReader(b.Text)
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("bash does not read it: %w: %s", err, bytes.TrimSpace(out))
	}
	return nil
}

// checkYAML decodes what has a kind that is known as its type, strictly. Other
// documents only have to be YAML.
func checkYAML(text string) error {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme, apiextensionsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	for document := range strings.SplitSeq("\n"+text, "\n---\n") {
		var content any
		if err := yaml.Unmarshal([]byte(document), &content); err != nil {
			return err
		}
		if object, ok := content.(map[string]any); !ok || object["kind"] == nil || object["apiVersion"] == nil {
			continue
		}
		if _, _, err := decoder.Decode([]byte(document), nil, nil); err != nil && !runtime.IsNotRegisteredError(err) {
			return err
		}
	}
	return nil
}

// checkGo takes a file, declarations, statements, the fields of a struct, constants,
// or the elements of a literal, formatted.
func checkGo(text string) error {
	formatted, err := format.Source([]byte(text))
	if err == nil {
		if string(formatted) != text {
			return errors.New("not formatted as gofmt does")
		}
		return nil
	}
	indented := "\t" + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n\t")
	indented = strings.ReplaceAll(indented, "\n\t\n", "\n\n")
	for _, around := range []string{"type _ struct {\n%s\n}\n", "const (\n%s\n)\n", "var _ = T{\n%s\n}\n"} {
		whole := "package p\n\n" + fmt.Sprintf(around, indented)
		if formatted, wrapped := format.Source([]byte(whole)); wrapped == nil {
			if string(formatted) != whole {
				return errors.New("not formatted as gofmt does")
			}
			return nil
		}
	}
	return err
}

func TestCheck(t *testing.T) {
	tests := map[string]struct {
		block Block
		want  string // part of the error, "" for none
	}{
		"shell":                  {Block{Language: "sh", Text: "for i in 1 2; do echo $i; done\n"}, ""},
		"shell, not run":         {Block{Language: "sh", Text: "# not run: needs a GPU\nkubectl get va NAME\n"}, ""},
		"shell, no reason":       {Block{Language: "sh", Text: "# Not run\nls\n"}, "and a reason"},
		"shell, empty reason":    {Block{Language: "sh", Text: "# not run: \nls\n"}, "and a reason"},
		"shell, not closed":      {Block{Language: "sh", Text: "for i in 1 2; do\n"}, "bash does not read it"},
		"shell, placeholder":     {Block{Language: "sh", Text: "kubectl get va <name>\n"}, "bash does not read it"},
		"shell with prompts":     {Block{Language: "sh", Text: "$ ls\n"}, "cannot be copied"},
		"another name for shell": {Block{Language: "bash", Text: "ls\n"}, `language "bash"`},
		"console":                {Block{Language: "console", Text: "$ ls\na\n"}, ""},
		"console without a name": {Block{Text: "$ ls\na\n"}, "is console"},
		"output as console":      {Block{Language: "console", Text: "a\n"}, "begins with a command"},
		"json":                   {Block{Language: "json", Text: "{\"a\": 1}\n"}, ""},
		"json, with a comma":     {Block{Language: "json", Text: "{\"a\": 1,}\n"}, "not valid JSON"},
		"go, statements":         {Block{Language: "go", Text: "a, err := b()\n"}, ""},
		"go, fields":             {Block{Language: "go", Text: "// A is an a.\nA int `json:\"a\"` // b\n"}, ""},
		"go, constants":          {Block{Language: "go", Text: "A Stage = \"a\" // b\n\n// B is a b.\nB = 1\n"}, ""},
		"go, elements":           {Block{Language: "go", Text: "A: {\"a\", 1},\nB: f(2),\n"}, ""},
		"go, elements, crooked":  {Block{Language: "go", Text: "A:  {\"a\", 1},\n"}, "not formatted"},
		"go, not formatted":      {Block{Language: "go", Text: "a  := 1\n"}, "not formatted"},
		"go, not Go":             {Block{Language: "go", Text: "a := = 1\n"}, "expected operand"},
		"yaml of no kind":        {Block{Language: "yaml", Text: "a: 1\n"}, ""},
		"yaml, not YAML":         {Block{Language: "yaml", Text: "a: [\n"}, "did not find expected"},
		"yaml of a kind of others": {
			Block{Language: "yaml", Text: "apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nspec: {free: true}\n"}, "",
		},
		"yaml of ours": {
			Block{Language: "yaml", Text: "apiVersion: llmd.ai/v1alpha1\nkind: VariantAutoscaling\nspec: {modelID: m, minReplicas: 1}\n"}, "",
		},
		"yaml of ours, a wrong field": {
			Block{Language: "yaml", Text: "a: 1\n---\napiVersion: llmd.ai/v1alpha1\nkind: VariantAutoscaling\nspec: {modelID: m, minReplica: 1}\n"},
			`unknown field "spec.minReplica"`,
		},
		"yaml of Kubernetes, a wrong type": {
			Block{Language: "yaml", Text: "apiVersion: apps/v1\nkind: Deployment\nspec: {replicas: many}\n"}, "cannot unmarshal",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			err := check(t.Context(), tt.block)
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("got %v, want none", err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}
