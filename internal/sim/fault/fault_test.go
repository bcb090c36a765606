package fault

import (
	"errors"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

var a = scaling.VariantKey{Namespace: "ns", Name: "a"}

func TestValidateNamesTheFieldThatIsWrong(t *testing.T) {
	for _, tt := range []struct {
		name, field string
		fault       Fault
	}{
		{"a crash for ever", "", Fault{Kind: Crash, Variant: a, Replicas: 2}},
		{"a crash loop", "", Fault{Kind: Crash, Variant: a, Period: 7 * time.Minute, Ready: 20 * time.Second}},
		{"silence", "", Fault{Kind: Silent, Variant: a, At: time.Hour, For: time.Hour}},
		{"a stall", "", Fault{Kind: Stall, Variant: a, At: time.Hour, For: time.Minute}},
		{"a slow node", "", Fault{Kind: NoNode, Variant: a, Wait: 6 * time.Minute}},
		{"a target that comes back", "", Fault{Kind: Deleted, Variant: a, For: time.Hour, Replicas: 3}},
		{"a rollout", "", Fault{Kind: Rollout, Variant: a, For: time.Hour, Share: 0.5}},
		{"a clock that is set back", "", Fault{Kind: Clock, Step: -time.Hour}},
		{"an outage of all models", "", Fault{Kind: Outage, For: time.Minute}},
		{"no kind", "kind", Fault{}},
		{"no variant", "variant", Fault{Kind: Crash}},
		{"a variant of a clock", "variant", Fault{Kind: Clock, Variant: a, Step: time.Second}},
		{"a model of a crash", "model", Fault{Kind: Crash, Variant: a, Model: scaling.ModelKey{Namespace: "ns", ID: "m"}}},
		{"before the start", "at", Fault{Kind: Outage, At: -1}},
		{"a wait of a crash", "wait", Fault{Kind: Crash, Variant: a, Wait: 1}},
		{"a period of silence", "period", Fault{Kind: Silent, Variant: a, Period: 1}},
		{"always Ready", "ready", Fault{Kind: Crash, Variant: a, Period: time.Minute, Ready: time.Minute}},
		{"a flap without a period", "ready", Fault{Kind: Flap, Variant: a}},
		{"replicas of an outage", "replicas", Fault{Kind: Outage, Replicas: 1}},
		{"a share of a crash", "share", Fault{Kind: Crash, Variant: a, Share: 0.5}},
		{"more than all", "share", Fault{Kind: Rollout, Variant: a, For: time.Hour, Share: 1.5}},
		{"a rollout without end", "for", Fault{Kind: Rollout, Variant: a}},
		{"a clock that is right", "step", Fault{Kind: Clock}},
	} {
		err := tt.fault.Validate()
		wrong, _ := errors.AsType[*FieldError](err)
		switch {
		case tt.field == "" && err != nil:
			t.Errorf("%s: %v", tt.name, err)
		case tt.field != "" && (wrong == nil || wrong.Field != tt.field):
			t.Errorf("%s: got %v, want an error about %s", tt.name, err, tt.field)
		}
	}
}

func TestAFaultIsInForceFromItsBeginningUntilItsEnd(t *testing.T) {
	f := Fault{Kind: Outage, At: time.Hour, For: time.Minute}
	for at, want := range map[time.Duration]bool{
		time.Hour - 1: false, time.Hour: true, time.Hour + time.Minute - 1: true, time.Hour + time.Minute: false,
	} {
		if got := f.Active(at); got != want {
			t.Errorf("%s: active is %t", at, got)
		}
	}
	f.For = 0
	if !f.Active(1000 * time.Hour) {
		t.Error("a fault without an end has ended")
	}
}

func TestAPodIsDownFirstAndThenReady(t *testing.T) {
	f := Fault{Kind: Crash, Variant: a, Period: 10 * time.Minute, Ready: time.Minute}
	for at, want := range map[time.Duration]bool{
		time.Hour: false, time.Hour + 9*time.Minute - 1: false, time.Hour + 9*time.Minute: true, time.Hour + 10*time.Minute: false, time.Hour + 19*time.Minute: true,
	} {
		if got := f.Up(time.Hour, at); got != want {
			t.Errorf("%s: up is %t", at, got)
		}
	}
}

func TestClockFaultsAddUp(t *testing.T) {
	all := []Fault{{Kind: Clock, Step: -time.Hour}, {Kind: Clock, At: time.Hour, For: time.Hour, Step: time.Minute}, {Kind: Outage}}
	for at, want := range map[time.Duration]time.Duration{0: -time.Hour, 90 * time.Minute: -59 * time.Minute, 3 * time.Hour: -time.Hour} {
		if got := Offset(all, at); got != want {
			t.Errorf("%s: off by %s, want %s", at, got, want)
		}
	}
}

func TestARolloutHasAWaveForEachShare(t *testing.T) {
	for share, want := range map[float64]int{0: 4, 0.25: 4, 0.3: 4, 0.5: 2, 1: 1, 0.1: 10} {
		n, each := Fault{Kind: Rollout, For: time.Hour, Share: share}.Waves()
		if n != want || each != time.Hour/time.Duration(want) {
			t.Errorf("share %g: %d waves of %s, want %d", share, n, each, want)
		}
	}
}
