package query_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestCatalogue pins every expression: a change of what is asked shows as a
// difference to review. That a PromQL engine accepts them and that they answer
// as described is not tested here.
func TestCatalogue(t *testing.T) {
	var got bytes.Buffer
	fmt.Fprintln(&got, "# name, unit, scope, and the expression over a window of 2m.")
	for _, q := range query.All() {
		fmt.Fprintf(&got, "\n%s [%s] per %s\n%s\n", q, q.Unit(), q.Scope(), q.Expr(2*time.Minute))
	}
	path := filepath.Join("testdata", "catalogue.txt")
	if *update {
		if err := os.WriteFile(path, got.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("catalogue (-want +got):\n%s", diff)
	}
}

func TestCatalogueIsSmallAndItsNamesAreLabels(t *testing.T) {
	all := query.All()
	if len(all) != query.Count || len(all) > 14 {
		t.Errorf("got %d quantities, want at most 14", len(all))
	}
	seen := map[string]bool{}
	for _, q := range all {
		if !regexp.MustCompile(`^[a-z][a-z_]*[a-z]$`).MatchString(q.String()) || seen[q.String()] {
			t.Errorf("the name %q is taken or no label value to like", q)
		}
		seen[q.String()] = true
	}
}

func TestExpressionsAreBalancedAndUseTheWindow(t *testing.T) {
	for _, q := range query.All() {
		one, two := q.Expr(time.Minute), q.Expr(90*time.Minute)
		if (one != two) != q.Windowed() {
			t.Errorf("%s: windowed is %v, and the expressions are\n%s\n%s", q, q.Windowed(), one, two)
		}
		for _, pair := range []string{"()", "[]", "{}"} {
			if strings.Count(one, pair[:1]) != strings.Count(one, pair[1:]) {
				t.Errorf("%s: unbalanced %s in %s", q, pair, one)
			}
		}
		if strings.Contains(one, "%") || strings.Contains(one, "\n") {
			t.Errorf("%s: a verb or a line break was left in %s", q, one)
		}
		if q.Windowed() && !strings.Contains(two, "[90m]") {
			t.Errorf("%s: no window of 90m in %s", q, two)
		}
	}
}

func TestRatesAreTakenBeforeAnythingIsAdded(t *testing.T) {
	for _, q := range query.All() {
		if expr := q.Expr(time.Minute); regexp.MustCompile(`(rate|delta)\((sum|max)`).MatchString(expr) {
			t.Errorf("%s takes the rate of an aggregate, which fakes resets: %s", q, expr)
		}
	}
}

func TestUnknownQuantityPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("got a name for a quantity that does not exist")
		}
	}()
	_ = query.Quantity(query.Count).String()
}

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Hour:                       "1s",
		0:                                "1s",
		999 * time.Millisecond:           "1s",
		1999 * time.Millisecond:          "1s",
		90 * time.Second:                 "90s",
		time.Minute:                      "1m",
		time.Hour:                        "1h",
		time.Hour + time.Second:          "3601s",
		36 * time.Hour:                   "36h",
		7 * 24 * time.Hour:               "7d",
		5*time.Minute + time.Millisecond: "5m",
	} {
		if got := query.Duration(d); got != want {
			t.Errorf("%s: got %s, want %s", d, got, want)
		}
	}
}

func TestGoldenDuration(t *testing.T) {
	shared := os.Getenv("WVA_SHARED")
	if shared == "" {
		t.Skip("WVA_SHARED not set")
	}
	content, err := os.ReadFile(filepath.Join(shared, "golden", "contract.json"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		ID, Area string
		Inputs   struct{ Seconds float64 }
		Expected struct {
			PromDuration string `json:"promDuration"`
		}
	}
	if err := json.Unmarshal(content, &cases); err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, c := range cases {
		if c.Area != "promdur-feb" {
			continue
		}
		ran++
		d := time.Duration(c.Inputs.Seconds * float64(time.Second))
		if got := query.Duration(d); got != c.Expected.PromDuration {
			t.Errorf("%s: got %s, want %s", c.ID, got, c.Expected.PromDuration)
		}
	}
	if ran == 0 {
		t.Error("no golden case of area promdur-feb")
	}
}
