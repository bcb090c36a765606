package docs

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
)

// Page is one Markdown file.
type Page struct {
	Path    string   // relative to the root of the repository, with slashes
	Anchors []string // of its headings, as on GitHub
	Links   []Link
	Blocks  []Block // fenced, in their order
}

// Link is a link or an image.
type Link struct {
	Line   int // 1 is the first
	Target string
	Image  bool
	Text   string // the text of the link, or the alternative text of the image
}

// Block is a fenced block.
type Block struct {
	Line     int    // of its first line of content
	Language string // "" where the fence names none
	Text     string // ends with a newline unless empty
}

// Read returns the pages below root, ordered by path. It leaves out folders with a leading dot,
// except for .github, and folders of build results and of test data.
func Read(root string) ([]Page, error) {
	var pages []Page
	repository := os.DirFS(root)
	err := fs.WalkDir(repository, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && passedOver(d.Name()):
			return fs.SkipDir
		case path.Ext(name) != ".md":
			return nil
		}
		source, err := fs.ReadFile(repository, name)
		if err != nil {
			return err
		}
		pages = append(pages, parse(name, source))
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading the pages of %s: %w", root, err)
	}
	slices.SortFunc(pages, func(a, b Page) int { return strings.Compare(a.Path, b.Path) })
	return pages, nil
}

func passedOver(dir string) bool {
	return strings.HasPrefix(dir, ".") && dir != ".github" || slices.Contains([]string{"bin", "dist", "testdata"}, dir)
}

// parse reads one page.
func parse(name string, source []byte) Page {
	p := Page{Path: name}
	r := reader{source: source}
	root := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(text.NewReader(source))
	_ = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the function returns no error
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			p.Anchors = append(p.Anchors, unique(p.Anchors, anchor(r.plain(n))))
		case *ast.Link:
			p.Links = append(p.Links, Link{Line: r.line(n), Target: string(n.Destination), Text: r.plain(n)})
		case *ast.Image:
			p.Links = append(p.Links, Link{Line: r.line(n), Target: string(n.Destination), Text: r.plain(n), Image: true})
		case *ast.FencedCodeBlock:
			p.Blocks = append(p.Blocks, Block{Line: r.line(n), Language: string(n.Language(source)), Text: string(n.Lines().Value(source))})
		}
		return ast.WalkContinue, nil
	})
	return p
}

// anchor returns GitHub's anchor for a heading: lower case, a dash for a space, and only letters,
// digits, dashes and underscores.
func anchor(heading string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c == ' ':
			return '-'
		case c == '-' || c == '_' || unicode.IsLetter(c) || unicode.IsDigit(c) || unicode.IsMark(c):
			return unicode.ToLower(c)
		}
		return -1
	}, strings.TrimSpace(heading))
}

// unique adds a number to an anchor that the page has already.
func unique(have []string, anchor string) string {
	name := anchor
	for i := 1; slices.Contains(have, name); i++ {
		name = fmt.Sprintf("%s-%d", anchor, i)
	}
	return name
}

// reader has the source of a page.
type reader struct{ source []byte }

// plain returns the text of a node without its markup.
func (r reader) plain(n ast.Node) string {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			b.Write(t.Value(r.source))
			if t.SoftLineBreak() {
				b.WriteByte(' ')
			}
		} else {
			b.WriteString(r.plain(c))
		}
	}
	return b.String()
}

// line returns the line where a node begins.
func (r reader) line(n ast.Node) int {
	at := n.Pos()
	if n.Type() == ast.TypeBlock && n.Lines().Len() > 0 {
		at = n.Lines().At(0).Start
	}
	return 1 + strings.Count(string(r.source[:max(at, 0)]), "\n")
}

// notRun begins the first line of an sh block that is not run.
const notRun = "# not run: "

// NotRun returns why an sh block is not run, "" if it is.
func (b Block) NotRun() string {
	first, _, _ := strings.Cut(b.Text, "\n")
	reason, _ := strings.CutPrefix(first, notRun)
	if reason == first {
		return ""
	}
	return strings.TrimSpace(reason)
}

// Script returns the sh blocks of a page that are run, as one program for bash, "" if there are
// none. Before each block it prints the page, the line and the time, so that output that ends early
// shows the block.
func (p Page) Script() string {
	var script strings.Builder
	for _, b := range p.Blocks {
		if b.Language == "sh" && b.NotRun() == "" {
			fmt.Fprintf(&script, "echo \"# %s:%d after ${SECONDS}s\"\n%s", p.Path, b.Line, b.Text)
		}
	}
	return script.String()
}
