package query

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// renderer renders the expressions of one Request.
type renderer struct {
	window   time.Duration
	span     time.Duration
	aged     bool
	whole    bool
	prefixes Prefixes
	matchers []string // of every selector
	bounds   []string // of the buckets, empty for all
}

func newRenderer(r Request) renderer {
	of := renderer{window: r.Window, span: r.Span, aged: r.Aged, whole: r.Whole, prefixes: r.Prefixes}
	if len(r.Namespaces) > 0 {
		of.matchers = append(of.matchers, LabelNamespace+oneOf(r.Namespaces))
	}
	if (r.Ask == AskObjective || r.Ask == AskPace || r.Ask == AskRecent) && len(r.Models) > 0 {
		of.matchers = append(of.matchers, LabelModel+oneOf(r.Models))
	}
	if len(r.Bounds) > 0 {
		of.bounds = append(slices.Clone(r.Bounds), everything)
	}
	return of
}

// everything is the bound of the bucket of everything.
const everything = "+Inf"

// selector renders a selector of name with the restrictions of the request and further matchers.
func (r renderer) selector(name string, matchers ...string) string {
	all := strings.Join(slices.Concat(r.matchers, matchers), ",")
	if all == "" {
		return name
	}
	return name + "{" + all + "}"
}

// of renders a selector of one name of s.
func (r renderer) of(s Series, name string) string {
	var matchers []string
	for _, pair := range s.With {
		matchers = append(matchers, matcher(pair, "="))
	}
	for _, pair := range s.Without {
		matchers = append(matchers, matcher(pair, "!="))
	}
	return r.selector(name, matchers...)
}

func matcher(pair, operator string) string {
	label, value, _ := strings.Cut(pair, "=")
	return label + operator + quote(value)
}

// oneOf renders the operator and operand that match values and nothing else.
func oneOf(values []string) string {
	if len(values) == 1 {
		return "=" + quote(values[0])
	}
	return "=~" + alternatives(values)
}

// alternatives renders the regular expression that matches values literally. A store anchors it at
// both ends.
func alternatives(values []string) string {
	literal := make([]string, len(values))
	for i, value := range values {
		literal[i] = regexp.QuoteMeta(valid(value))
	}
	return quote(strings.Join(literal, "|"))
}

// quote renders text as a string of PromQL, whose escapes are Go's. Any text stays one string.
func quote(text string) string { return strconv.Quote(valid(text)) }

// valid replaces invalid UTF-8: no label has such a value, and no store accepts it in a regular
// expression.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }
