package config

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/spelling"
)

// Severity says what a Finding means for the user.
type Severity string

// The severities.
const (
	// Refused: the value is not in force.
	Refused Severity = "refused"
	// Doubtful: the value is in force, but may not have the effect that the user expects.
	Doubtful Severity = "doubtful"
)

// Finding is a fault or doubt in a ConfigMap that its user must know about.
type Finding struct {
	Severity  Severity `json:"severity"`
	Namespace string   `json:"namespace"` // of the ConfigMap
	ConfigMap string   `json:"configMap"` // its name
	Key       string   `json:"key,omitempty"`
	// Field is the place within the value of Key, such as data[2].slo-ttft.
	Field string `json:"field,omitempty"`
	// Value is the value that was found, "" where no single value is at fault. Secrets are hidden.
	Value string `json:"value,omitempty"`
	// Problem says what is wrong where Want does not suffice.
	Problem string `json:"problem,omitempty"`
	Want    string `json:"want,omitempty"` // what is accepted
	Nearest string `json:"nearest,omitempty"`
	// InForce says what applies instead.
	InForce string `json:"inForce,omitempty"`
	// Concerns is the set of variants that the entry is for; empty parts match all.
	Concerns Scope `json:"concerns,omitzero"`
	// Unnamed restricts Concerns to the variants that name no service class, whose class is looked
	// up by their model.
	Unnamed bool `json:"unnamed,omitempty"`
}

// Scope is a set of variants: those with this namespace, model and accelerator, "" for any.
type Scope struct {
	Namespace   string `json:"namespace,omitempty"`
	Model       string `json:"model,omitempty"` // its ID
	Accelerator string `json:"accelerator,omitempty"`
}

// Overlaps reports whether a variant could be in both scopes.
func (s Scope) Overlaps(o Scope) bool {
	same := func(a, b string) bool { return a == "" || b == "" || a == b }
	return same(s.Namespace, o.Namespace) && same(s.Model, o.Model) && same(s.Accelerator, o.Accelerator)
}

// and returns the smallest scope that holds all variants of both.
func (s Scope) and(o Scope) Scope {
	both := func(a, b string) string {
		if a == b {
			return a
		}
		return ""
	}
	return Scope{both(s.Namespace, o.Namespace), both(s.Model, o.Model), both(s.Accelerator, o.Accelerator)}
}

// String returns the place and the message in one sentence.
func (f Finding) String() string {
	at := fmt.Sprintf("ConfigMap %s/%s", f.Namespace, f.ConfigMap)
	if place := f.Place(); place != "" {
		at += ", " + place
	}
	return at + ": " + f.Message()
}

// Place returns the key and the field, "" if the finding is about neither.
func (f Finding) Place() string {
	if f.Key != "" && f.Field != "" {
		return f.Key + ", " + f.Field
	}
	return f.Key + f.Field
}

// Message returns the value, the problem, the accepted values and what is in force.
func (f Finding) Message() string {
	var b strings.Builder
	problem := f.Problem
	if f.Value != "" {
		fmt.Fprintf(&b, "%q ", f.Value)
	}
	if problem == "" {
		problem = "is not accepted"
	}
	b.WriteString(problem)
	if f.Want != "" {
		fmt.Fprintf(&b, ": want %s", f.Want)
	}
	if f.Nearest != "" {
		fmt.Fprintf(&b, "; did you mean %s?", f.Nearest)
	}
	if f.InForce != "" {
		fmt.Fprintf(&b, "; in force: %s", f.InForce)
	}
	return b.String()
}

// longestShown bounds how much of its input a finding repeats, in characters: a condition's message
// holds 32 KiB, an event's 1 KiB.
const longestShown = 96

// longestReason bounds how much of a YAML error a finding repeats, in characters: such an error may
// list every line.
const longestReason = 240

// shorten cuts text to longestShown characters, and makes it valid UTF-8.
func shorten(text string) string { return cut(text, longestShown) }

// cut cuts text to a number of characters, and makes it valid UTF-8.
func cut(text string, longest int) string {
	text = strings.ToValidUTF8(text, "?")
	if utf8.RuneCountInString(text) <= longest {
		return text
	}
	return string([]rune(text)[:longest]) + "..."
}

// mostFindings bounds the findings of one ConfigMap and severity. A user mends the first before
// reading the twentieth.
const mostFindings = 20

// findings collects the findings of one ConfigMap, up to mostFindings of each severity, and counts
// the others.
type findings struct {
	of   Source
	list []Finding
	seen map[Severity]int
	// add puts key and concerns into each finding.
	key      string
	concerns Scope
	// omitted is the scope of the findings that are only counted, by severity.
	omitted map[Severity]Scope
}

// mappings yields the entries of the ConfigMap that are YAML mappings, ordered by key. A finding
// that is added meanwhile names the entry. An entry that is no mapping is refused: want is what
// would be accepted, and keep returns what is in force in its place.
func (f *findings) mappings(system bool, want string, keep func(key string) string) iter.Seq2[string, map[string]any] {
	return func(yield func(string, map[string]any) bool) {
		for _, key := range slices.Sorted(maps.Keys(f.of.Data)) {
			f.key, f.concerns = key, Scope{}
			if !system {
				f.concerns.Namespace = f.of.Namespace
			}
			tree, err := decodeMapping(f.of.Data[key])
			if err != nil {
				f.add(Finding{Severity: Refused, Problem: "is not read: " + err.Error(), Want: want, InForce: keep(key)})
				continue
			}
			if !yield(key, tree) {
				return
			}
		}
	}
}

func newFindings(of Source) *findings {
	return &findings{of: of, seen: map[Severity]int{}, omitted: map[Severity]Scope{}}
}

// full reports whether another finding would only be counted. The caller then skips costly details.
func (f *findings) full(s Severity) bool { return f.seen[s] >= mostFindings }

func (f *findings) add(found Finding) {
	f.seen[found.Severity]++
	found.Concerns = cmp.Or(found.Concerns, f.concerns)
	if over := f.seen[found.Severity] - mostFindings; over > 0 {
		if over > 1 {
			found.Concerns = found.Concerns.and(f.omitted[found.Severity])
		}
		f.omitted[found.Severity] = found.Concerns
		return
	}
	found.Namespace, found.ConfigMap = f.of.Namespace, f.of.Name
	found.Key = shorten(cmp.Or(found.Key, f.key))
	found.Field, found.Value = shorten(found.Field), shorten(found.Value)
	f.list = append(f.list, found)
}

// hold sets InForce in each finding from index from on that does not have it.
func (f *findings) hold(from int, instead func(field string) string) {
	for i := from; i < len(f.list); i++ {
		if f.list[i].InForce == "" {
			f.list[i].InForce = instead(f.list[i].Field)
		}
	}
}

// unknown adds a finding that a name is not known.
func (f *findings) unknown(field, name string, known []string) {
	found := Finding{Severity: Refused, Field: field, Problem: "is not known", InForce: "all but this field"}
	if field == "" {
		found.Key, found.InForce = name, "all but this key"
	}
	if !f.full(Refused) {
		found.Nearest = spelling.Nearest(name, known)
		if found.Nearest == "" {
			found.Want = oneOfKnown(known)
		}
	}
	f.add(found)
}

// all returns the findings, and for each severity one that counts the findings left out.
func (f *findings) all() []Finding {
	out := f.list
	for _, s := range []Severity{Refused, Doubtful} {
		if more := f.seen[s] - mostFindings; more > 0 {
			out = append(out, Finding{
				Severity: s, Namespace: f.of.Namespace, ConfigMap: f.of.Name, Concerns: f.omitted[s],
				Problem: fmt.Sprintf("%d more of this kind are not listed", more),
			})
		}
	}
	return out
}

// oneOfKnown lists the names if the list is short enough to help.
func oneOfKnown(known []string) string {
	if text := oneOf(known); len(text) <= 3*longestShown {
		return text
	}
	return "a documented key"
}
