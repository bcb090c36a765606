package faults

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// plumbingPage is where users read of the plumbing faults.
const plumbingPage = "../../docs/reference/plumbing-faults.md"

func TestReferenceOfPlumbingFaultsIsGenerated(t *testing.T) {
	want := plumbingReference()
	if *update {
		if err := os.WriteFile(plumbingPage, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(plumbingPage)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("%s is not what the list says: run go test ./test/faults -run Reference -update (-want +got):\n%s", plumbingPage, diff)
	}
}

// plumbingReference returns the page.
func plumbingReference() string {
	var b strings.Builder
	all := AllPlumbing()
	told := 0
	for _, f := range all {
		if !f.Told.None() {
			told++
		}
	}
	fmt.Fprintf(&b, `<!-- Generated from test/faults by go test ./test/faults -run Reference -update. -->

# Plumbing faults

A manager that runs and does not scale mostly lacks something on the way of a decision: from the metrics of the pods by Prometheus
to the manager, and by the HPA to the replicas. These are %d such faults, with what names each and what mends it. %s in
[test/e2e](../../test/e2e) injects every one of them into the local cluster, beside the others, with the manager of the chart at its
default interval of 60 s. [wva doctor](cli.md#wva-doctor) names each by its code, and names nothing in a healthy cluster. A condition
or an event names %d of them within two cycles. A code is explained under [findings](findings.md). The test gives the doctor the address of
Prometheus (`+"`--prometheus`"+`), which it asks for series under another prefix.

Faults that last a while and pass, and what the manager does meanwhile: [faults](faults.md).
`, len(all), "`"+PlumbingTest+"`", told)
	for _, of := range Scopes() {
		fmt.Fprintf(&b, "\n## %s\n\n| Fault | What is wrong | `wva doctor` | Condition or event | What mends it |\n| --- | --- | --- | --- | --- |\n", of.Scope)
		for _, f := range all {
			if f.Scope != of.Scope {
				continue
			}
			fmt.Fprintf(&b, "| `%s` | %s | [%s](findings.md#%s) | %s | %s |\n", f.ID, f.Breaks, f.Code, strings.ToLower(f.Code), f.Told.markdown(), f.Mends)
		}
	}
	fmt.Fprint(&b, "\n## How the test injects them\n\nMost are the fault itself: an object, a role or a certificate is as the table says. The local cluster cannot have the others, "+
		"which the test injects by the nearest means.\n\n| Fault | In the test |\n| --- | --- |\n")
	for _, f := range all {
		if f.Injected != "" {
			fmt.Fprintf(&b, "| `%s` | %s |\n", f.ID, f.Injected)
		}
	}
	return b.String()
}

// markdown is a cell of the page.
func (t Told) markdown() string {
	switch {
	case t.None():
		return "none"
	case t.Condition == "":
		return fmt.Sprintf("event `%s`, with `%s`", t.Reason, t.Says)
	case t.Kind == onHPA:
		return fmt.Sprintf("`%s` %s `%s` of the HPA, with `%s`", t.Condition, t.Status, t.Reason, t.Says)
	default:
		return fmt.Sprintf("`%s` %s `%s`, with `%s`", t.Condition, t.Status, t.Reason, t.Says)
	}
}

func TestThereAreThirtyPlumbingFaultsAndMostAreTold(t *testing.T) {
	count, seen, told := map[Scope]int{}, map[string]bool{}, 0
	var order []Scope
	for _, f := range AllPlumbing() {
		count[f.Scope]++
		if len(order) == 0 || order[len(order)-1] != f.Scope {
			order = append(order, f.Scope)
		}
		if seen[f.ID] {
			t.Errorf("%s is there twice", f.ID)
		}
		seen[f.ID] = true
		if !regexp.MustCompile(`^[a-z]+(-[a-z]+)+$`).MatchString(f.ID) {
			t.Errorf("%s: want words in lower case with hyphens", f.ID)
		}
		if !regexp.MustCompile(`^WVA0[1-8][0-9]{2}$`).MatchString(f.Code) {
			t.Errorf("%s: code %q, want WVA and four digits", f.ID, f.Code)
		}
		for field, text := range map[string]string{"what is wrong": f.Breaks, "what mends it": f.Mends} {
			if text == "" || strings.ContainsAny(text+f.Injected+f.Told.Says, "|\n") {
				t.Errorf("%s: %s is %q, want a text for a cell of a table", f.ID, field, text)
			}
		}
		if f.Told.None() {
			continue
		}
		told++
		if f.Told.Kind == "" || f.Told.Reason == "" || f.Told.Says == "" || (f.Told.Condition == "") != (f.Told.Status == "") {
			t.Errorf("%s is told by %+v: want an object, a reason, a part of the message, and of a condition its status", f.ID, f.Told)
		}
	}
	var want []Scope
	total := 0
	for _, of := range Scopes() {
		want = append(want, of.Scope)
		total += of.Faults
		if count[of.Scope] != of.Faults {
			t.Errorf("%s has %d faults, want %d", of.Scope, count[of.Scope], of.Faults)
		}
	}
	if total != 30 || !slices.Equal(order, want) {
		t.Errorf("%d faults of %v, want 30 of %v, those of a scope together", total, order, want)
	}
	if told < PlumbingNamed {
		t.Errorf("a condition or an event names %d faults, want %d", told, PlumbingNamed)
	}
}

func TestTheTestOfThePlumbingFaultsExists(t *testing.T) {
	if missing := readTests(t, e2e).missing(PlumbingTest); missing != "" {
		t.Errorf("%s has no %s", e2e, missing)
	}
}
