package chart

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestValuesAreDescribedByTheirComments(t *testing.T) {
	got, err := ReadValues([]byte(`# An introduction.

# -- How many. More
# than one.
# @schema {"minimum": 1, "examples": [7]}
count: 2
group:
  # -- Whether.
  on: true
`))
	if err != nil {
		t.Fatal(err)
	}
	want := []*Value{
		{Path: "count", Text: "How many. More than one.", Default: 2, Schema: map[string]any{"type": "integer", "minimum": 1.0}, Examples: []any{7.0}},
		{Path: "group", Children: []*Value{{Path: "group.on", Text: "Whether.", Default: true, Schema: map[string]any{"type": "boolean"}}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestValuesWithoutADescriptionAreRefused(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"a value", "a: 1", "reading value a: it has no description (# --)"},
		{"one in a group", "g:\n  a: 1", "reading value g.a: it has no description (# --)"},
		{"a schema alone", "# @schema {}\na: 1", "a schema without a description"},
		{"a schema that is no JSON", "# -- A.\n# @schema {\na: 1", "its # @schema"},
		{"no mapping", "- 1", "not a mapping"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := ReadValues([]byte(test.text)); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}
