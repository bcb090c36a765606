package discovery

import (
	"strings"
	"testing"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation"
)

func TestNameForAVariantID(t *testing.T) {
	tests := map[string]string{
		"":                               "",
		"default/default-A100-1":         "default-default-a100-1",
		"meta-llama/Llama-3.1-8B-H100-2": "meta-llama-llama-3-1-8b-h100-2",
		"a_b c:d-L40S-1":                 "abcd-l40s-1",
		"-/lead-A100-1":                  "lead-a100-1",
		"trail.-":                        "trail",
		"./_":                            "",
		"Größe-A100-1":                   "gre-a100-1",
		"a//b":                           "a--b",
	}
	for id, want := range tests {
		if got := nameFor(id); got != want {
			t.Errorf("%q: got %q, want %q", id, got, want)
		}
	}
}

func TestSuggestionIsForNamesThatDiffer(t *testing.T) {
	long := strings.Repeat("x", longestName)
	tests := map[string]struct{ name, variantID, want string }{
		"differs":            {"va", "m-A100-1", "m-a100-1"},
		"the same":           {"m-a100-1", "m-A100-1", ""},
		"no variantID":       {"va", "", ""},
		"nothing remains":    {"va", "..", ""},
		"as long as allowed": {"va", long, long},
		"too long":           {"va", long + "x", ""},
	}
	for name, tt := range tests {
		if got := suggestion(tt.name, tt.variantID); got != tt.want {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}

// FuzzSuggestion holds that what is suggested is a name, whatever the variantID.
func FuzzSuggestion(f *testing.F) {
	for _, id := range []string{"default/default-A100-1", "x\xff-A-1", "İ-A-1", "-", "a.b/c"} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id string) {
		got := suggestion("", id)
		if got == "" {
			return
		}
		if errs := validation.IsDNS1123Subdomain(got); len(errs) > 0 {
			t.Errorf("%q from %q: %v", got, id, errs)
		}
		if !utf8.ValidString(got) || nameFor(got) != got {
			t.Errorf("%q from %q is not settled: %q", got, id, nameFor(got))
		}
	})
}
