package web_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/dashboard/web"
)

// markup matches what makes elements, code or styles of text, by which a name could become markup, and
// what the page's policy refuses.
var markup = regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|createContextualFragment|setHTML|DOMParser|document\.write|\beval\(|new Function|setAttribute\("style"|style:|srcdoc|javascript:`)

func TestNothingReadBecomesMarkup(t *testing.T) {
	seen := 0
	for _, dir := range []string{"src", filepath.Join("..", "..", "chart"), filepath.Join("pages", "assets")} {
		files, err := filepath.Glob(filepath.Join(dir, "*.js"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			seen++
			for i, line := range strings.Split(string(text), "\n") {
				if found := markup.FindString(line); found != "" {
					t.Errorf("%s:%d: %s: text reaches the page as text nodes alone, styles by style sheets", name, i+1, found)
				}
			}
		}
	}
	if seen < 15 {
		t.Errorf("%d files were looked at, want all modules", seen)
	}
}

func TestThePageHasNothingInline(t *testing.T) {
	page, err := fs.ReadFile(web.Assets(), "index.html")
	if err != nil {
		t.Fatal(err)
	}
	inline := regexp.MustCompile(`<style|<script>|\son[a-z]+=|\sstyle=|https?://[^w]`)
	if found := inline.Find(page); found != nil {
		t.Errorf("index.html has %q in it, which the policy refuses", found)
	}
	for _, match := range regexp.MustCompile(`(?:src|href)="/(assets/[^"]+)"`).FindAllStringSubmatch(string(page), -1) {
		if _, err := fs.Stat(web.Assets(), match[1]); err != nil {
			t.Errorf("index.html asks for what is not there: %v", err)
		}
	}
}

func TestOtherHostsAreNotNamed(t *testing.T) {
	address := regexp.MustCompile(`(?:https?:)?//[a-z0-9-]+\.[a-z]`)
	for _, name := range []string{"assets/app.js", "assets/app.css"} {
		text, err := fs.ReadFile(web.Assets(), name)
		if err != nil {
			t.Fatal(err)
		}
		rest := strings.Replace(string(text), "http://www.w3.org/2000/svg", "", 1) // a name, which nothing fetches
		if found := address.FindString(rest); found != "" {
			t.Errorf("%s names %s", name, found)
		}
		if strings.Contains(rest, "@import") || strings.Contains(rest, "url(") {
			t.Errorf("%s fetches more", name)
		}
	}
}
