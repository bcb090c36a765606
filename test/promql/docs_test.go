package promql

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
)

// TestExpressionsOfThePagesParse reads the promql blocks of every page, whose
// expressions are parted by empty lines.
func TestExpressionsOfThePagesParse(t *testing.T) {
	block := regexp.MustCompile("(?ms)^ *```promql\n(.*?)^ *```$")
	parse, expressions := parser.NewParser(parser.Options{}), 0
	err := filepath.WalkDir(filepath.Join("..", ".."), func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), ".") && d.Name() != "..":
			return filepath.SkipDir
		case filepath.Ext(name) != ".md":
			return nil
		}
		page, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		for _, found := range block.FindAllSubmatch(page, -1) {
			for text := range strings.SplitSeq(string(found[1]), "\n\n") {
				expressions++
				if _, err := parse.ParseExpr(text); err != nil {
					t.Errorf("%s: %v\n%s", name, err, text)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if expressions == 0 {
		t.Error("no page has an expression")
	}
}
