package profile

import (
	"fmt"
	"math"
	"testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// inNamespace returns a variant that differs from its other results in namespace and name only.
func inNamespace(namespace, name string) scaling.Variant {
	return scaling.Variant{
		Key:   scaling.VariantKey{Namespace: namespace, Name: name},
		Model: scaling.ModelKey{Namespace: namespace, ID: "Qwen/Qwen3-14B"}, Accelerator: "A100", GPUsPerReplica: 1, Template: "t",
	}
}

// fleet holds variants and their fits.
type fleet struct {
	variants []scaling.Variant
	fits     map[scaling.VariantKey]memory.Fit
}

// with adds a variant whose replicas behaved as m for a number of windows.
func (f *fleet) with(m machine, windows int, v scaling.Variant) {
	if f.fits == nil {
		f.fits = map[scaling.VariantKey]memory.Fit{}
	}
	f.variants = append(f.variants, v)
	f.fits[v.Key] = f.fits[v.Key].For(v)
	f.sample(m, windows, v)
}

// sample adds windows in which the replicas of v behave as m.
func (f *fleet) sample(m machine, windows int, v scaling.Variant) {
	for range windows {
		minute := int(f.fits[v.Key].At.Sub(at).Minutes()) + 1
		if f.fits[v.Key].At.IsZero() {
			minute = 0
		}
		s := snapshot(minute, 500, m.pace([]float64{1, 4, 12, 30}[minute%4], 500, 200, 0))
		s.Replicas[0].Variant = v.Key
		fit := Learn(f.fits[v.Key], s, v)
		fit.Shared = f.fits[v.Key].Shared
		f.fits[v.Key] = fit
	}
}

// shares returns the shared time of a step for v, in ms (0 without one), and from how many
// namespaces it comes.
func (f *fleet) shares(v scaling.Variant) (step float64, namespaces int) {
	s := Share(f.variants, f.fits)[v.Key]
	if !s.Known() {
		return 0, s.Namespaces
	}
	return dot(Unknown().After(memory.Fit{Bands: s.Bands}).step.mean, sharedAt), s.Namespaces
}

// TestNamespacesShareWhatIsOfTheSameKind: a namespace gets nothing from its own variants.
func TestNamespacesShareWhatIsOfTheSameKind(t *testing.T) {
	m := machine{12, 0.2, 0.04} // 17.6 ms at sharedAt
	twice := machine{24, 0.4, 0.08}
	own := inNamespace("own", "v")
	for name, tt := range map[string]struct {
		lend       func(f *fleet)
		receiver   func(v *scaling.Variant)
		step       float64
		namespaces int
	}{
		"one other namespace": {lend: func(f *fleet) { f.with(m, 12, inNamespace("a", "v")) }, step: 17.6, namespaces: 1},
		"its own namespace":   {lend: func(f *fleet) { f.with(m, 12, inNamespace("own", "w")) }},
		"another model":       {lend: func(f *fleet) { f.with(m, 12, inNamespace("a", "v")) }, receiver: func(v *scaling.Variant) { v.Model.ID = "x" }},
		"another accelerator": {lend: func(f *fleet) { f.with(m, 12, inNamespace("a", "v")) }, receiver: func(v *scaling.Variant) { v.Accelerator = "H100" }},
		"more accelerators":   {lend: func(f *fleet) { f.with(m, 12, inNamespace("a", "v")) }, receiver: func(v *scaling.Variant) { v.GPUsPerReplica = 2 }},
		"another template":    {lend: func(f *fleet) { f.with(m, 12, inNamespace("a", "v")) }, receiver: func(v *scaling.Variant) { v.Template = "u" }},
		"a template that is not known": {lend: func(f *fleet) {
			v := inNamespace("a", "v")
			v.Template = ""
			f.with(m, 12, v)
		}, receiver: func(v *scaling.Variant) { v.Template = "" }},
		"too little was seen": {lend: func(f *fleet) { f.with(m, 2, inNamespace("a", "v")) }},
		"what was seen of an accelerator before": {lend: func(f *fleet) {
			v := inNamespace("a", "v")
			v.Accelerator = "L40S"
			f.with(m, 12, v)
			f.variants[0].Accelerator = "A100"
		}},
		"of two namespaces the slower": {lend: func(f *fleet) {
			f.with(m, 12, inNamespace("a", "v"))
			f.with(twice, 12, inNamespace("b", "v"))
		}, step: 35.2, namespaces: 2},
		"of three namespaces the median, however many variants one of them has": {lend: func(f *fleet) {
			f.with(m, 12, inNamespace("a", "v"))
			f.with(m, 12, inNamespace("b", "v"))
			for i := range 5 {
				f.with(machine{1.2, 0.02, 0.004}, 40, inNamespace("c", fmt.Sprint(i)))
			}
		}, step: 17.6, namespaces: 3},
		"its own namespace counts for others alone": {lend: func(f *fleet) {
			f.with(twice, 12, inNamespace("a", "v"))
			f.with(m, 12, inNamespace("own", "w"))
		}, step: 35.2, namespaces: 1},
		"what does not keep the law of a step": {lend: func(f *fleet) {
			v := inNamespace("a", "v")
			f.with(m, 12, v)
			for range 12 {
				f.sample(m, 1, v)
				f.sample(machine{36, 0.6, 0.12}, 1, v)
			}
			if what, _, _ := Refuted(f.fits[v.Key]); what == "" {
				t.Fatal("what was seen is used")
			}
		}},
	} {
		var f fleet
		tt.lend(&f)
		v := own
		if tt.receiver != nil {
			tt.receiver(&v)
		}
		f.with(m, 0, v)
		if step, namespaces := f.shares(v); math.Abs(step-tt.step) > 0.05*tt.step || namespaces != tt.namespaces {
			t.Errorf("%s: a step of %.2f ms of %d namespaces, want %.2f of %d", name, step, namespaces, tt.step, tt.namespaces)
		}
	}
}

// TestWhatIsSharedIsAPriorAndNoEvidence: a shared profile sizes a variant that was never seen, and
// does not count as seen. It gives way to a stated profile and to the variant's own windows,
// however wrong it is.
func TestWhatIsSharedIsAPriorAndNoEvidence(t *testing.T) {
	is := machine{24, 0.4, 0.08}
	itl := func(p scaling.Profile, n float64) float64 { return p.Alpha + p.Beta*n }
	of := func(f *fleet, v scaling.Variant) scaling.Profile {
		t.Helper()
		out, known := Of([]scaling.Variant{v}, f.fits, 500, 200, 0)
		if !known {
			t.Fatal("nothing is known")
		}
		return out.Variants[0].Profile
	}
	for name, lent := range map[string]machine{"right": is, "ten times too fast": {2.4, 0.04, 0.008}, "five times too slow": {120, 2, 0.4}} {
		t.Run(name, func(t *testing.T) {
			var lender, f fleet
			lender.with(lent, 12, inNamespace("a", "v"))
			own := inNamespace("own", "v")
			lender.with(is, 0, own)
			f.with(is, 0, own)
			fit := f.fits[own.Key]
			fit.Shared = Share(lender.variants, lender.fits)[own.Key]
			f.fits[own.Key] = fit

			p, want := of(&f, own), lent.pace(15, 500, 200, 0).ITL
			if got := itl(p, 16); p.Source != SourceShared || math.Abs(got-want) > 0.05*want {
				t.Errorf("before a window it is %+v with an ITL of %.1f ms, want the shared %.1f", p, got, want)
			}
			if p.MaxBatchSize == 0 || p.MaxBatchSize > 64 {
				t.Errorf("it is given %d requests together, want no more than twice the 32 that were seen elsewhere", p.MaxBatchSize)
			}
			if fit := f.fits[own.Key]; fit.Informed() || fit.Seen() {
				t.Errorf("what is shared counts as seen: %+v", fit)
			}
			if shown := Show([]scaling.Variant{own}, f.fits, 500, 200)[0]; shown.From != IsShared || shown.Namespaces != 1 || shown.Samples != 0 || shown.Profile.Source != SourceShared {
				t.Errorf("it is shown as %s of %d namespaces with %.0f windows, %q", shown.From, shown.Namespaces, shown.Samples, shown.Profile.Source)
			}
			stated := own
			stated.Profile = scaling.Profile{Source: "x", Alpha: 1, Beta: 1, Gamma: 1, Delta: 1}
			if out, _ := Of([]scaling.Variant{stated}, f.fits, 500, 200, 0); len(out.Variants) > 0 && out.Variants[0].Profile != stated.Profile {
				t.Errorf("a stated profile became %+v by what is shared", out.Variants[0].Profile)
			}

			f.sample(is, 4, own)
			p = of(&f, own)
			for _, n := range []float64{2, 8, 24} {
				want := is.pace(n-1, 500, 200, 0).ITL
				if got := itl(p, n); p.Source != Source || math.Abs(got-want) > 0.1*want {
					t.Errorf("after four windows of its own it has an ITL of %.1f ms with %.0f together (%s), want %.1f", got, n, p.Source, want)
				}
			}
		})
	}
}

// TestAProfileThatWasMovedSaysByWhat: it names both profiles, and whether own windows or another
// variant moved it. Where measurements confirm the stated profile, nothing is reported.
func TestAProfileThatWasMovedSaysByWhat(t *testing.T) {
	is := machine{20, 0.4, 0.08}
	var f fleet
	own, other := inNamespace("own", "v"), inNamespace("own", "w")
	other.Accelerator = "H100"
	f.with(is, 20, own)
	f.with(is, 0, other)
	rightly := Unknown().After(f.fits[own.Key]).Profile(500, 200)
	rightly.Source = "spec.modelProfile"
	times := func(k float64) scaling.Profile {
		p := rightly
		p.Alpha, p.Beta, p.Gamma, p.Delta = k*p.Alpha, k*p.Beta, k*p.Gamma, k*p.Delta
		return p
	}
	moved := func(p scaling.Profile) []scaling.MovedProfile {
		t.Helper()
		a, b := own, other
		a.Profile, b.Profile = p, p
		out, known := Of([]scaling.Variant{a, b}, f.fits, 500, 200, 0)
		if !known {
			t.Fatal("nothing is known")
		}
		return out.Moved
	}
	if got := moved(rightly); len(got) > 0 {
		t.Errorf("what is stated rightly was moved: %+v", got)
	}
	got := moved(times(2))
	if len(got) != 2 {
		t.Fatalf("%d variants were moved, want 2: %+v", len(got), got)
	}
	by := got[0]
	if by.Variant != own.Key || by.Source != "spec.modelProfile" || by.Windows < 19 || by.Like != (scaling.VariantKey{}) || by.Together != 32 {
		t.Errorf("the first was moved by %+v, want by 20 windows of its own with up to 32 together", by)
	}
	for _, pair := range [][2]float64{
		{by.StatedAlone.ITL, by.Alone.ITL},
		{by.StatedTogether.ITL, by.AllTogether.ITL},
		{by.StatedAlone.TTFT, by.Alone.TTFT},
		{by.StatedTogether.TTFT, by.AllTogether.TTFT},
	} {
		if times := pair[0] / pair[1]; times < 1.8 || times > 2.2 {
			t.Errorf("stated %.1f ms, measured %.1f: want half", pair[0], pair[1])
		}
	}
	if by := got[1]; by.Variant != other.Key || by.Windows != 0 || by.Like != own.Key {
		t.Errorf("the second was moved by %+v, want by the first", by)
	}
}
