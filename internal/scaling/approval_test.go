package scaling

import (
	"testing"
	"time"
)

func TestAnnotationsOfApproval(t *testing.T) {
	hours := Approval{Required: true, After: 4 * time.Hour}
	for text, want := range map[string]Approval{
		"shrink": {Required: true}, "shrink;after=4h": hours, "shrink;after=240m": hours, "none": {},
	} {
		if got, err := ParseApproval(text); err != nil || got != want {
			t.Errorf("%q: got %+v, %v; want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "true", "false", "Shrink", "shrink;", "shrink;after", "shrink;after=", "shrink;after=0s", "shrink;after=-1h", "shrink;after=4", "shrink;before=4h", "grow"} {
		if got, err := ParseApproval(text); err == nil || got != (Approval{Required: true}) {
			t.Errorf("%q: got %+v, %v; want an error, and approval without an end", text, got, err)
		}
	}
}

func TestAGrantIsReadAsItIsWritten(t *testing.T) {
	for _, g := range []Grant{{Cycle: "k7hw2cxd-12", To: 2}, {Cycle: "a;cycle=b", To: 0}} {
		if got, err := ParseGrant(g.String()); err != nil || got != g {
			t.Errorf("%s: got %+v, %v", g, got, err)
		}
	}
	for _, text := range []string{"", "true", "2", "to=2", "to=2;cycle=", "to=-1;cycle=a", "to=2.5;cycle=a", "cycle=a;to=2", "to=99999999999;cycle=a"} {
		if got, err := ParseGrant(text); err == nil || got != (Grant{}) {
			t.Errorf("%q: got %+v, %v; want an error", text, got, err)
		}
	}
}

func TestAReductionIsReadAsItIsWritten(t *testing.T) {
	r := Reduction{Cycle: "k7hw2cxd-12", Since: time.Date(2026, 11, 25, 12, 0, 0, 5, time.UTC), From: 4, To: 0}
	if got, ok := ReductionIn("freeze window\n" + FactReduction + r.String()); !ok || got != r {
		t.Errorf("got %+v, %t", got, ok)
	}
	for _, text := range []string{"", "a b 4 2", "a 2026-11-25T12:00:00Z 2 4", "a 2026-11-25T12:00:00Z 4 -1", "a 2026-11-25T12:00:00Z 4"} {
		if got, ok := ReductionIn(FactReduction + text); ok || got != (Reduction{}) {
			t.Errorf("%q: got %+v", text, got)
		}
	}
	if _, ok := ReductionIn("nothing"); ok {
		t.Error("found a reduction where there is none")
	}
}

func FuzzAnnotationsOfApproval(f *testing.F) {
	f.Add("shrink;after=4h")
	f.Add("to=2;cycle=k7hw2cxd-12")
	f.Add("k7hw2cxd-12 2026-11-25T12:00:00Z 4 2")
	f.Fuzz(func(t *testing.T, text string) {
		if a, err := ParseApproval(text); err != nil && !a.Required || a.After < 0 {
			t.Fatalf("%q: got %+v", text, a)
		}
		if g, err := ParseGrant(text); err == nil {
			if again, err := ParseGrant(g.String()); err != nil || again != g {
				t.Fatalf("%q: got %+v, and read again %+v, %v", text, g, again, err)
			}
		}
		if r, ok := ReductionIn(FactReduction + text); ok && (r.To < 0 || r.From < r.To) {
			t.Fatalf("%q: got %+v", text, r)
		}
	})
}
