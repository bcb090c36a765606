package explain

import (
	"strings"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

func TestAStatedProfileThatWasMovedIsSaidWithItsEvidence(t *testing.T) {
	key := func(name string) scaling.VariantKey { return scaling.VariantKey{Namespace: "ns", Name: name} }
	own := scaling.MovedProfile{
		Variant: key("a"), Source: "spec.modelProfile", Together: 32, Windows: 29,
		StatedAlone: scaling.Latency{ITL: 18.4, TTFT: 60}, Alone: scaling.Latency{ITL: 9.17, TTFT: 25},
		StatedTogether: scaling.Latency{ITL: 30, TTFT: 144}, AllTogether: scaling.Latency{ITL: 12.9, TTFT: 28.8},
	}
	like := own
	like.Windows, like.Like = 0, key("b")
	const numbers = "spec.modelProfile moved by what was measured: ITL 18.4 -> 9.17 ms alone, 30 -> 12.9 ms with 32 together; TTFT without a wait 60 -> 25 ms, 144 -> 28.8 ms; "
	for name, tt := range map[string]struct {
		variant string
		moved   []scaling.MovedProfile
		want    string
	}{
		"nothing was moved":         {"a", nil, ""},
		"another variant was moved": {"b", []scaling.MovedProfile{own}, ""},
		"by its own replicas":       {"a", []scaling.MovedProfile{own}, numbers + "by 29 windows of its replicas, with up to 32 requests together"},
		"by those of another":       {"a", []scaling.MovedProfile{like}, numbers + "of its own replicas too little was seen, and those of b are as far off what is stated of them"},
	} {
		e := Explanation{Variant: scaling.Variant{Key: key(tt.variant)}, Sizing: scaling.Analysis{Moved: tt.moved}}
		got := ""
		for line := range strings.Lines(Report(e, time.Time{})) {
			if after, found := strings.CutPrefix(line, "  profile     "); found {
				got += strings.TrimSuffix(after, "\n")
			}
		}
		if got != tt.want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, tt.want)
		}
	}
}
