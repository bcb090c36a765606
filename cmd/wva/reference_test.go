package main

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/goldentest"
)

// reference is the page for users, rewritten with -update.
const reference = "../../docs/reference/cli.md"

// flagReference is a flag as the page shows it.
type flagReference struct{ Name, Value, Default, Meaning string }

func TestReferenceIsGeneratedFromTheCommands(t *testing.T) {
	for _, name := range []string{"WVA_MANAGER", "POD_NAMESPACE"} {
		t.Setenv(name, "") // defaults are taken from them
	}
	var manager bytes.Buffer
	if _, err := config.Parse([]string{"--help"}, os.LookupEnv, &manager); !errors.Is(err, config.ErrAnswered) {
		t.Fatal(err)
	}
	page, err := template.New("cli.md.tmpl").Funcs(template.FuncMap{
		"flags": flagsOf, "prose": prose, "trim": strings.TrimSpace,
		"cell": func(text string) string { return strings.ReplaceAll(text, "|", "\\|") },
		"cut":  func(text string) string { return strings.TrimPrefix(strings.ReplaceAll(text, "\n  ", "\n"), "  ") },
	}).ParseFiles("testdata/cli.md.tmpl")
	if err != nil {
		t.Fatal(err)
	}
	var want bytes.Buffer
	if err := page.Execute(&want, map[string]any{"Commands": commandsOf(newRootCommand()), "Manager": manager.String()}); err != nil {
		t.Fatal(err)
	}
	goldentest.Generated(t, reference, want.Bytes(), *update)
}

// commandsOf lists the commands below one that do something, and have something to
// say of it, in the order of their paths.
func commandsOf(parent *cobra.Command) []*cobra.Command {
	var out []*cobra.Command
	for _, c := range parent.Commands() {
		if c.Long != "" {
			out = append(out, c)
		}
		out = append(out, commandsOf(c)...)
	}
	return out
}

// flagsOf lists the flags of a command, but --help, which every one has.
func flagsOf(c *cobra.Command) []flagReference {
	var out []flagReference
	c.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
		if f.Name == "help" || f.Hidden {
			return
		}
		value, meaning := pflag.UnquoteUsage(f)
		of := flagReference{"--" + f.Name, value, f.DefValue, meaning}
		if f.Shorthand != "" {
			of.Name = "-" + f.Shorthand + ", " + of.Name
		}
		if slices.Contains([]string{"[]", "0", "0s", "false"}, of.Default) { // as --help leaves them out
			of.Default = ""
		}
		out = append(out, of)
	})
	return out
}

// prose makes Markdown of a help text: a list of what is indented and begins with a
// dash, code of what is else indented.
func prose(text string) string {
	var out []string
	inCode := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		rest, item := strings.CutPrefix(line, "  - ")
		code := strings.HasPrefix(line, "  ") && !item
		if code != inCode {
			out = append(out, map[bool]string{true: "\n```text", false: "```\n"}[code])
		}
		inCode = code
		switch {
		case item:
			line = "- " + rest
		case code:
			line = line[2:]
		}
		out = append(out, line)
	}
	if inCode {
		out = append(out, "```")
	}
	return strings.ReplaceAll(strings.Join(out, "\n"), "\n\n\n", "\n\n")
}
