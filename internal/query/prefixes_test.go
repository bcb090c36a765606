package query_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
)

func TestPrefixesAreReadFromText(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		want       query.Prefixes
		wrong      string // what the error says, "" for none
	}{
		{"one", "vllm:", query.Prefixes{"vllm:"}, ""},
		{"several with blanks", " vllm: ,\tkserve_vllm:", query.Prefixes{"vllm:", "kserve_vllm:"}, ""},
		{"one twice", "b_,a_,b_", query.Prefixes{"b_", "a_"}, ""},
		{"the default as it is written", query.DefaultPrefixes().String(), query.DefaultPrefixes(), ""},
		{"nothing", "", nil, `"" does not begin`},
		{"nothing beside one", "vllm:,", nil, `"" does not begin`},
		{"a dash", "vllm:,acme-vllm:", nil, `"acme-vllm:" does not begin`},
		{"a digit first", "1vllm", nil, `"1vllm" does not begin`},
		{"an expression", `a{b="c"}`, nil, "does not begin"},
		{"a line break", "a\nb", nil, "does not begin"},
		{"too long", strings.Repeat("a", query.LongestPrefix+1), nil, "longer than 64"},
		{"too many", "a,b,c,d,e,f,g", nil, "more than 6"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := query.ParsePrefixes(tc.text)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("prefixes (-want +got):\n%s", diff)
			}
			if (err != nil) != (tc.wrong != "") || err != nil && !strings.Contains(err.Error(), tc.wrong) {
				t.Errorf("got error %v, want %q", err, tc.wrong)
			}
		})
	}
}

func TestAPreferredNameComesFirstUnderEachPrefix(t *testing.T) {
	recipe, _ := query.RecipeOf(query.VLLM, query.KVCacheUsage, query.Prefixes{"a_", "b:"})
	want := []string{"a_kv_cache_usage_perc", "b:kv_cache_usage_perc", "a_gpu_cache_usage_perc", "b:gpu_cache_usage_perc"}
	if diff := cmp.Diff(want, recipe.Of[0].Names); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"a_num_requests_running", "b:num_requests_running"}, query.VLLM.Witnesses(query.Prefixes{"a_", "b:"})); diff != "" {
		t.Errorf("witnesses (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"sglang:num_running_reqs"}, query.SGLang.Witnesses(query.Prefixes{"a_"})); diff != "" {
		t.Errorf("witnesses of another engine (-want +got):\n%s", diff)
	}
}

// TestEveryQuestionReadsEveryPrefix compares what is asked under one prefix with what is
// asked under three: the same names under each, and as many questions.
func TestEveryQuestionReadsEveryPrefix(t *testing.T) {
	name := regexp.MustCompile(`\b(one|two|three)_\w+`)
	for _, ask := range query.Questions() {
		request := query.Request{Ask: ask, Window: time.Minute, Span: time.Hour, Prefixes: query.Prefixes{"one_", "two_", "three_"}}
		for _, request.Whole = range []bool{false, true} {
			names := map[string][]string{}
			for _, match := range name.FindAllString(request.PromQL(), -1) {
				prefix, rest, _ := strings.Cut(match, "_")
				names[prefix] = append(names[prefix], rest)
			}
			for prefix := range names {
				slices.Sort(names[prefix])
				names[prefix] = slices.Compact(names[prefix])
			}
			if diff := cmp.Diff(names["one"], names["two"]); diff != "" {
				t.Errorf("%s (-one +two):\n%s", ask, diff)
			}
			if diff := cmp.Diff(names["one"], names["three"]); diff != "" {
				t.Errorf("%s (-one +three):\n%s", ask, diff)
			}
			if (len(names["one"]) == 0) != (ask == query.AskGateway) {
				t.Errorf("%s reads %v", ask, names["one"])
			}
		}
	}
}

// longestExpression is what VictoriaMetrics takes unless its -search.maxQueryLen says
// otherwise, in bytes.
const longestExpression = 16 << 10

func TestExpressionsFitAStoreThatBoundsThem(t *testing.T) {
	for _, ask := range query.Questions() {
		for _, whole := range []bool{false, true} {
			request := query.Request{Ask: ask, Window: time.Minute, Span: time.Hour, Whole: whole, Aged: true, Namespaces: []string{"a-namespace"}}
			if n := len(request.PromQL()); n > longestExpression {
				t.Errorf("%s takes %d bytes, more than %d", ask, n, longestExpression)
			}
		}
	}
}

func FuzzParsePrefixes(f *testing.F) {
	for _, text := range []string{"", "vllm:", "a,b", "a,,b", " a ", "a-b", "\x00", "ü:", query.DefaultPrefixes().String()} {
		f.Add(text)
	}
	word := regexp.MustCompile(`^[a-zA-Z_:][a-zA-Z0-9_:]*$`)
	f.Fuzz(func(t *testing.T, text string) {
		got, err := query.ParsePrefixes(text)
		if err != nil {
			return
		}
		if len(got) == 0 || len(got) > query.MostPrefixes {
			t.Fatalf("%q: %d prefixes", text, len(got))
		}
		for i, prefix := range got {
			if !word.MatchString(prefix) || len(prefix) > query.LongestPrefix || slices.Contains(got[:i], prefix) {
				t.Errorf("%q: accepted %q", text, prefix)
			}
		}
		again, err := query.ParsePrefixes(got.String())
		if err != nil || !slices.Equal(again, got) {
			t.Errorf("%q: read %v and, as it renders, %v, %v", text, got, again, err)
		}
	})
}
