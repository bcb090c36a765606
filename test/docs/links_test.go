package docs

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// root is that of the repository.
var root = filepath.Join("..", "..")

func TestLinksResolve(t *testing.T) {
	pages := read(t)
	links := 0
	for _, p := range pages {
		for _, l := range p.Links {
			links++
			if err := resolve(os.DirFS(root), pages, p, l); err != nil {
				t.Errorf("%s:%d: [%s](%s): %v", p.Path, l.Line, l.Text, l.Target, err)
			}
		}
	}
	if links == 0 {
		t.Error("no links found")
	}
}

// resolve says what is wrong with a link of a page. What is outside of the
// repository is not asked for.
func resolve(repository fs.FS, pages []Page, from Page, l Link) error {
	to, err := url.Parse(l.Target)
	if err != nil {
		return err
	}
	if l.Image && strings.TrimSpace(l.Text) == "" {
		return errors.New("a picture needs a text for those who do not see it")
	}
	if to.Scheme == "https" && to.Host != "" {
		return nil
	}
	if to.Scheme != "" || path.IsAbs(to.Path) {
		return errors.New("want https, or a path relative to the page")
	}
	file := from.Path
	if to.Path != "" {
		file = path.Join(path.Dir(from.Path), to.Path)
	}
	if _, err := fs.Stat(repository, file); err != nil {
		return fmt.Errorf("%s is not in the repository", file)
	}
	if to.Fragment == "" {
		return nil
	}
	i := slices.IndexFunc(pages, func(p Page) bool { return p.Path == file })
	if i < 0 {
		return fmt.Errorf("%s is no page, and has no anchors", file)
	}
	if !slices.Contains(pages[i].Anchors, to.Fragment) {
		return fmt.Errorf("%s has no heading for it, only %s", file, strings.Join(pages[i].Anchors, ", "))
	}
	return nil
}

func TestResolve(t *testing.T) {
	pages := []Page{{Path: "docs/a.md", Anchors: []string{"one"}}, {Path: "README.md"}}
	tests := map[string]struct {
		link Link
		want string // part of the error, "" for none
	}{
		"page":             {Link{Target: "../README.md"}, ""},
		"own anchor":       {Link{Target: "#one"}, ""},
		"anchor":           {Link{Target: "a.md#two"}, "docs/a.md has no heading for it, only one"},
		"folder":           {Link{Target: "../config"}, ""},
		"file":             {Link{Target: "../config/x.yaml#L3"}, "is no page"},
		"missing":          {Link{Target: "b.md"}, "docs/b.md is not in the repository"},
		"outside":          {Link{Target: "../../b.md"}, "is not in the repository"},
		"absolute":         {Link{Target: "/docs/a.md"}, "relative"},
		"world":            {Link{Target: "https://kubernetes.io/docs/"}, ""},
		"world, in clear":  {Link{Target: "http://kubernetes.io/docs/"}, "want https"},
		"silent picture":   {Link{Target: "a.svg", Image: true}, "text"},
		"picture":          {Link{Target: "a.svg", Image: true, Text: "a"}, ""},
		"picture, missing": {Link{Target: "b.svg", Image: true, Text: "a"}, "not in the repository"},
	}
	dir := t.TempDir()
	for _, name := range []string{"docs/a.md", "docs/a.svg", "README.md", "config/x.yaml"} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, tt := range tests {
		err := resolve(os.DirFS(dir), pages, pages[0], tt.link)
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%s: got %v, want none", name, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: got %v, want %q", name, err, tt.want)
		}
	}
}

// TestEveryPageIsFound wants a link to every page, or to its folder.
func TestEveryPageIsFound(t *testing.T) {
	pages := read(t)
	linked := map[string]bool{"README.md": true} // where readers begin
	for _, p := range pages {
		for _, l := range p.Links {
			if to, err := url.Parse(l.Target); err == nil && to.Scheme == "" && to.Path != "" {
				linked[path.Join(path.Dir(p.Path), to.Path)] = true
			}
		}
	}
	for _, p := range pages {
		if !linked[p.Path] && !linked[path.Dir(p.Path)] {
			t.Errorf("no page links to %s", p.Path)
		}
	}
}

// pageNames are pages that a source file speaks of.
var pageNames = regexp.MustCompile(`\bdocs/[A-Za-z0-9_./-]*\.(md|svg|png|json)\b`)

// foreignPages are of other projects.
var foreignPages = []string{"docs/planner/sla_planner.md"} // Dynamo's

// TestPagesThatSourcesNameExist looks at what is no link: comments, messages,
// annotations of alerts, code in pages.
func TestPagesThatSourcesNameExist(t *testing.T) {
	named := 0
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != root && passedOver(d.Name()):
			return filepath.SkipDir
		case d.IsDir() || !slices.Contains([]string{".go", ".md", ".yaml", ".yml", ".json", ".tmpl", ".txt", ".sh", ""}, filepath.Ext(name)):
			return nil
		case strings.HasPrefix(name, filepath.Join(root, "test", "docs")):
			return nil // has names of its own invention
		}
		source, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		for _, page := range pageNames.FindAllString(string(source), -1) {
			named++
			if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(page))); err != nil && !slices.Contains(foreignPages, page) {
				t.Errorf("%s names %s, which does not exist", name, page)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if named == 0 {
		t.Error("no source names a page")
	}
}

func read(t *testing.T) []Page {
	t.Helper()
	pages, err := Read(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(pages) == 0 {
		t.Fatal("no pages found")
	}
	return pages
}
