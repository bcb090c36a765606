package explain

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

func TestWhoSetsTheReplicasIsSaid(t *testing.T) {
	hpa := func(least scaling.Replicas) scaling.Scaler {
		return scaling.Scaler{Kind: scaling.KindHPA, Name: "h", Bounds: scaling.Bounds{Min: least, Max: 5}}
	}
	keda := scaling.Scaler{Kind: scaling.KindScaledObject, Name: "k", Bounds: scaling.Bounds{Max: 5}}
	by := func(own scaling.Actuation, list ...scaling.Scaler) scaling.Scalers {
		return scaling.Scalers{Own: own, Known: true, List: list}
	}
	const (
		hpaLine = "HorizontalPodAutoscaler h (min 1, max 5)"
		zero    = "the manager, from and to zero where no other does, by the scale subresource"
		none    = "none: no HorizontalPodAutoscaler and no ScaledObject scales the target"
	)
	tests := map[string]struct {
		by       scaling.Scalers
		sentence string
		lines    []string
		who      string // as a status says it
	}{
		"metrics":            {by(scaling.ActuationMetrics, hpa(1)), "", []string{hpaLine}, "HorizontalPodAutoscaler/h"},
		"metrics, no scaler": {by(scaling.ActuationMetrics), "", []string{none}, "none"},
		"zero": {
			by(scaling.ActuationZero, hpa(1)), ". From and to zero, the manager sets them by the scale subresource",
			[]string{zero, hpaLine},
			"HorizontalPodAutoscaler/h,wva/zero",
		},
		"zero, by no scaler": {
			by(scaling.ActuationZero), ". From and to zero, the manager sets them by the scale subresource",
			[]string{zero, none},
			"wva/zero",
		},
		"zero, the HPA does": {
			by(scaling.ActuationZero, hpa(0)), ". HorizontalPodAutoscaler h has minReplicas 0 and goes to zero and back itself, so the manager does not",
			[]string{zero, "HorizontalPodAutoscaler h (min 0, max 5)"},
			"HorizontalPodAutoscaler/h",
		},
		"zero, KEDA does": {
			by(scaling.ActuationZero, keda), ". Whether there are any is for ScaledObject k to set, so the manager does not",
			[]string{zero, "ScaledObject k (min 0, max 5)"},
			"ScaledObject/k",
		},
		"scale": {
			by(scaling.ActuationScale), ". The manager sets them by the scale subresource",
			[]string{"the manager, by the scale subresource"},
			"wva",
		},
		"scale, not alone": {by(scaling.ActuationScale, hpa(1)), "", []string{hpaLine}, "HorizontalPodAutoscaler/h"},
		"scale, not told if": {
			scaling.Scalers{Own: scaling.ActuationScale},
			". The manager sets them by the scale subresource",
			[]string{"the manager, by the scale subresource", "not known"},
			"",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got, want := FollowingBy(tt.by), Following()+tt.sentence; got != want {
				t.Errorf("got  %q\nwant %q", got, want)
			}
			if got := WhoScales(tt.by); tt.by.Known && got != tt.who {
				t.Errorf("a status says %q, want %q", got, tt.who)
			}
			if diff := cmp.Diff(tt.lines, scalers(ActuationBy(tt.by))); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
		})
	}
}

func TestManagerMessages(t *testing.T) {
	target := scaling.TargetRef{Kind: "Deployment", Name: "d"}
	for got, want := range map[string]string{
		TwoScalers(scaling.Scaler{Kind: scaling.KindHPA, Name: "h"}): `annotation wva.llmd.ai/actuation is "scale": want no other that sets the replicas, ` +
			`and HorizontalPodAutoscaler h does; in force: "metrics"`,
		ManagerRefused(target, scaling.Trouble{Reason: "Forbidden", Message: "no"}): "The replicas of Deployment d stay as they are, and each cycle tries again: Forbidden: no",
		ManagerBlind(target, scaling.Scalers{Fault: "forbidden"}):                   "Who else scales Deployment d is not known, so the manager leaves its replicas as they are: forbidden",
		ManagerUndone(target): "The manager sets the replicas of Deployment d, and they do not stay so. " +
			"Check what else sets spec.replicas, such as a tool that applies manifests",
		ShortGracePeriod(target, 30, 61.4): "pods of Deployment d have terminationGracePeriodSeconds 30, and 1 of 100 requests takes longer than about 61 s " +
			"(estimated from TTFT, ITL and output tokens, as if their number were exponential): what then runs is cut off when a replica is removed. Give them as long",
	} {
		if got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
}
