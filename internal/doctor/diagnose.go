package doctor

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Finding is one problem.
type Finding struct {
	Code     Code     `json:"code"`
	Name     string   `json:"name"`
	Object   string   `json:"object,omitempty"` // its object, as "Kind namespace/name"; "" for the installation
	Sentence string   `json:"sentence"`
	Evidence []string `json:"evidence"`
	Mend     string   `json:"mend"` // a command
	Advice   string   `json:"advice,omitempty"`
	Page     string   `json:"page"`
	// Others are further objects with the same problem and the same evidence.
	Others []string `json:"others,omitempty"`

	of *scaling.VariantKey // nil for the installation
}

// StageReport holds the results of one stage.
type StageReport struct {
	Stage    string    `json:"stage"`
	Seen     []string  `json:"seen"` // what is in order
	Findings []Finding `json:"findings"`
}

// Report is the answer of Diagnose.
type Report struct {
	Stages   []StageReport `json:"stages"`
	Variants int           `json:"variants"` // checked
	Found    int           `json:"found"`    // findings
	Skipped  []Code        `json:"skipped,omitempty"`
	Probe    *Probe        `json:"probe,omitempty"` // nil without a probe
}

// Filter selects findings.
type Filter struct {
	Only []Code // empty for all
	Skip []Code
}

func (f Filter) wants(code Code) bool {
	return (len(f.Only) == 0 || slices.Contains(f.Only, code)) && !slices.Contains(f.Skip, code)
}

// check is one check of a Case.
type check struct {
	name  string
	codes []Code // the findings that it may make
	needs []Read // it is not made if one of them failed
	pre   bool   // made before an installation, too
	run   func(c *Case, say *result)
}

// result collects the results of a check.
type result struct {
	seen  []string
	found []Finding
}

// saw notes something that is in order.
func (r *result) saw(format string, args ...any) {
	r.seen = append(r.seen, fmt.Sprintf(format, args...))
}

// names replace the words in capitals of a command.
type names map[string]string

// finds notes a finding of the installation.
func (r *result) finds(code Code, n names, evidence ...string) {
	e := entry(code)
	r.found = append(r.found, Finding{
		Code: code, Name: e.Name, Sentence: e.Sentence, Evidence: evidence, Mend: n.fill(e.Mend), Advice: n.fill(e.Advice), Page: code.Page(),
	})
}

// findsOf notes a finding of a variant.
func (r *result) findsOf(code Code, c *Case, v *Variant, n names, evidence ...string) {
	all := names{
		"NAMESPACE": v.Object.Namespace, "NAME": v.Object.Name, "SYSTEM": c.System, "KIND": kindOf(v), "TARGET": v.Object.Target().Name,
		"TARGETKIND": strings.ToLower(v.Object.Target().Kind), "MODEL": v.Object.Spec.ModelID,
	}
	maps.Copy(all, n)
	r.finds(code, all, evidence...)
	f := &r.found[len(r.found)-1]
	key := v.key()
	f.of, f.Object = &key, v.String()
}

// String names the object of the variant.
func (v *Variant) String() string {
	kind := cmp.Or(v.Object.Kind, "VariantAutoscaling")
	return fmt.Sprintf("%s %s/%s", kind, v.Object.Namespace, v.Object.Name)
}

// kindOf returns the kind of the object of the variant, as kubectl accepts it.
func kindOf(v *Variant) string {
	if v.Object.FromScaler() {
		return strings.ToLower(v.Object.Kind)
	}
	return "va"
}

// The placeholders of a command, and the names that need no quotes in a shell.
var (
	placeholder = regexp.MustCompile(`\b[A-Z]+\b`)
	plain       = regexp.MustCompile(`^[\w.:/,@%+= -]*$`)
)

// fill replaces the words in capitals of a command. It quotes names that a shell would interpret:
// users copy commands, and others may have written the names.
func (n names) fill(text string) string {
	return placeholder.ReplaceAllStringFunc(text, func(word string) string {
		switch name := n[word]; {
		case name == "":
			return word
		case plain.MatchString(name):
			return name
		default:
			return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
		}
	})
}

// checks returns all checks, in the order in which a decision passes their stages.
func checks() []check {
	return slices.Concat(installationChecks(), objectChecks(), metricsChecks(), decisionChecks(), scalerChecks(), targetChecks(), networkChecks(), probeChecks())
}

// Diagnose makes the checks of a case. The report has every stage, also those without results.
func Diagnose(c Case, filter Filter) Report {
	var all []Finding
	seen := map[Stage][]string{}
	unmade := map[Read][]string{} // checks that were not made
	for _, look := range checks() {
		if c.Pre && !look.pre {
			continue
		}
		if missing := look.missing(&c); len(missing) > 0 {
			for _, read := range missing {
				unmade[read] = append(unmade[read], look.name)
			}
			continue
		}
		var r result
		look.run(&c, &r)
		if stage := look.codes[0].stage(); slices.ContainsFunc(look.codes, filter.wants) {
			seen[stage] = append(seen[stage], r.seen...)
		}
		all = append(all, r.found...)
	}
	all = append(all, notLookedAt(&c, unmade)...)
	// Findings that the filter drops explain others all the same.
	all = slices.DeleteFunc(withoutConsequences(all), func(f Finding) bool { return !filter.wants(f.Code) })
	all = merge(all)
	out := Report{Variants: len(c.Variants), Skipped: filter.Skip, Found: len(all), Probe: c.Probe}
	for _, stage := range Stages() {
		s := StageReport{Stage: stage.String(), Seen: append([]string{}, seen[stage]...), Findings: []Finding{}}
		for _, f := range all {
			if f.Code.stage() == stage {
				s.Findings = append(s.Findings, f)
			}
		}
		out.Stages = append(out.Stages, s)
	}
	return out
}

// missing returns the reads that the check needs and that failed.
func (l check) missing(c *Case) []Read {
	var out []Read
	for _, read := range l.needs {
		if _, missed := c.Missed[read]; missed {
			out = append(out, read)
		}
	}
	return out
}

// notLookedAt returns a finding for each read that failed.
func notLookedAt(c *Case, unmade map[Read][]string) []Finding {
	var r result
	for _, read := range slices.Sorted(maps.Keys(c.Missed)) {
		m := c.Missed[read]
		evidence := []string{fmt.Sprintf("%s: %s", read, m.Why)}
		if checks := unmade[read]; len(checks) > 0 {
			evidence = append(evidence, "not checked: "+strings.Join(checks, ", "))
		}
		n := names{}
		if verb, resource, ok := strings.Cut(m.Right, " "); ok {
			n = names{"VERB": verb, "RESOURCE": resource}
			evidence = append(evidence, "the right that is missing: "+m.Right)
		}
		r.finds("WVA0102", n, evidence...)
		if m.Right == "" {
			r.found[len(r.found)-1].Mend = "kubectl get --raw /readyz"
		}
	}
	return r.found
}

// withoutConsequences leaves out findings that another finding explains: one of the same variant,
// or one of the installation.
func withoutConsequences(all []Finding) []Finding {
	explained := func(f Finding) bool {
		behind := entry(f.Code).Behind
		return slices.ContainsFunc(all, func(by Finding) bool {
			return by.Code != f.Code && slices.Contains(behind, by.Code) && (by.of == nil || f.of != nil && *by.of == *f.of)
		})
	}
	var out []Finding
	for _, f := range all {
		if !explained(f) {
			out = append(out, f)
		}
	}
	return out
}

// merge joins findings of one code with the same evidence into one, which names the other objects.
// It sorts them by code, and within a code in the order in which they were found.
func merge(all []Finding) []Finding {
	slices.SortStableFunc(all, func(a, b Finding) int { return strings.Compare(string(a.Code), string(b.Code)) })
	var out []Finding
	for _, f := range all {
		i := slices.IndexFunc(out, func(o Finding) bool {
			return o.Code == f.Code && o.of != nil && f.of != nil && slices.Equal(o.Evidence, f.Evidence)
		})
		if i >= 0 {
			out[i].Others = append(out[i].Others, f.Object)
			continue
		}
		out = append(out, f)
	}
	return out
}
