package docs

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	got := parse("docs/a.md", []byte("# The `one` idea\n\ntext, a [link](b.md#c), and\n![a picture](d.svg \"title\")\n\n"+
		"| a |\n|---|\n| [in a table](e.md) |\n\n## Again, twice\n## Again; twice\n\n* an item\n\n  ```sh\n  ls\n  ```\n\n```\nplain\n```\n"))
	want := Page{
		Path:    "docs/a.md",
		Anchors: []string{"the-one-idea", "again-twice", "again-twice-1"},
		Links: []Link{
			{Line: 3, Target: "b.md#c", Text: "link"},
			{Line: 4, Target: "d.svg", Image: true, Text: "a picture"},
			{Line: 8, Target: "e.md", Text: "in a table"},
		},
		Blocks: []Block{{Line: 16, Language: "sh", Text: "ls\n"}, {Line: 20, Text: "plain\n"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAnchor(t *testing.T) {
	tests := map[string]string{
		"Rooms":                        "rooms",
		"What it may do, and why":      "what-it-may-do-and-why",
		"`wva explain`":                "wva-explain",
		"--flag_name & co.":            "--flag_name--co",
		"From 0 to 1":                  "from-0-to-1",
		"Where it decides otherwise …": "where-it-decides-otherwise-",
	}
	for heading, want := range tests {
		page := parse("a.md", []byte("# "+heading+"\n"))
		if len(page.Anchors) != 1 || page.Anchors[0] != want {
			t.Errorf("%q: got %q, want %q", heading, page.Anchors, want)
		}
	}
}

func TestScript(t *testing.T) {
	page := parse("a.md", []byte("```sh\none\n```\n```sh\n# not run: needs a GPU\ntwo\n```\n```console\n$ three\n```\n```sh\n# not run\nfour\n```\n"))
	if got, want := page.Script(), "echo \"# a.md:2 after ${SECONDS}s\"\none\necho \"# a.md:12 after ${SECONDS}s\"\n# not run\nfour\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := page.Blocks[1].NotRun(), "needs a GPU"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
