package explain

import (
	"strings"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

func TestAReportSaysWhyAModelIsNotIdle(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		activity scaling.Activity
		want     string
	}{
		"idle": {
			scaling.Activity{At: now, Life: scaling.LifeIdle, Detail: "nothing runs, waits or arrives", IdleSince: now.Add(-250 * time.Second), Until: now},
			"  idle        for 4m10s: nothing runs, waits or arrives\n",
		},
		"active":    {scaling.Activity{At: now, Life: scaling.LifeActive, Detail: "a-0: 3 requests run, 0 wait"}, "  idle        no: a-0: 3 requests run, 0 wait\n"},
		"not known": {scaling.Activity{At: now, Detail: "a: 1 of 2 replicas say what they do"}, "  idle        not known: a: 1 of 2 replicas say what they do\n"},
	} {
		e := Explanation{Past: scaling.Past{Activity: tt.activity}}
		if got := Report(e, now); !strings.Contains(got, tt.want) {
			t.Errorf("%s: got\n%s\nwant %q in it", name, got, tt.want)
		}
	}
	if got := Report(Explanation{}, now); strings.Contains(got, "  idle") {
		t.Errorf("got\n%s\nof a model that no cycle has looked at", got)
	}
}
