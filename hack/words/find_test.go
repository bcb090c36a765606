package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWordsAreFoundInNamesCommentsAndProse(t *testing.T) {
	list, err := parseList("# a comment\n\nshelf | node capacity | other *_test.go\nwaiting room | pending pods\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, file, text, want string }{
		{"a comment", "a.go", "package a\n\n// A shelf of\n// a node, a bookshelf.\n", "3 shelf node capacity"},
		{"a comment of several lines", "a.go", "package a\n\n/* one\nshelf\n*/\n", "4 shelf node capacity"},
		{
			"a part of a name", "a.go", "package a\n\nvar topShelf, waitingRoom, shelf_of int\n",
			"3 Shelf node capacity; 3 waiting Room pending pods; 3 shelf node capacity",
		},
		{"a string may quote", "a.go", "package a\n\nconst s = \"shelf\"\n", ""},
		{"another meaning in a folder", "other/deep/a.go", "package a\n\nvar shelf int\n", ""},
		{"another meaning in a file", "a_test.go", "package a\n\nvar shelf int\n", ""},
		{"prose", "a.md", "# A Shelf\n\nin the waiting room\n", "1 Shelf node capacity; 3 waiting room pending pods"},
		{"a template", "a.tpl", "{{/* on a\nshelf in a waiting\nroom */}}", "2 shelf node capacity; 2 waiting\nroom pending pods"},
		{"a manifest", "a.yaml", "a: 1 # the shelf\nb: `shelf`\n", "1 shelf node capacity; 2 shelf node capacity"},
		{"code in prose", "a.md", "the `shelf` of\n\n```\nshelf\n```\nafter\n", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, f := range list.in(tt.file, []byte(tt.text)) {
				got = append(got, fmt.Sprint(f.line, " ", f.found, " ", f.instead))
			}
			if diff := cmp.Diff(tt.want, strings.Join(got, "; ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestALineOfTheListHasAWordAndAReplacement(t *testing.T) {
	for _, text := range []string{"shelf", "shelf |", "| node capacity", "a | b | c | d"} {
		if _, err := parseList(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
	if _, err := parseList(list); err != nil {
		t.Errorf("words.txt: %v", err)
	}
}
