package explain

import (
	"strings"
	"testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

func TestScalerMessages(t *testing.T) {
	h := scaling.Scaler{Kind: scaling.KindHPA, Name: "h", Bounds: scaling.Bounds{Min: 1, Max: 3}}
	k := scaling.Scaler{Kind: scaling.KindScaledObject, Name: "k", Bounds: scaling.Bounds{Max: 100}}
	with := func(change func(*scaling.Scaler)) scaling.Scaler {
		s := h
		change(&s)
		return s
	}
	by := func(s ...scaling.Scaler) scaling.Scalers { return scaling.Scalers{Known: true, List: s} }
	inactive := scaling.Trouble{Reason: "FailedGetExternalMetric", Message: "read tcp 10.0.0.1:41234->10.0.0.2:443: i/o timeout"}
	tests := map[string]struct{ got, want string }{
		"none": {
			NoScaler(scaling.TargetRef{Kind: "Deployment", Name: "d"}),
			"No HorizontalPodAutoscaler and no ScaledObject scales Deployment d. " +
				`Create one that reads wva_desired_replicas of this variant, or set the annotation wva.llmd.ai/actuation of this object to "scale"`,
		},
		"rivals": {
			Rivals([]scaling.Scaler{h, k}),
			"HorizontalPodAutoscaler h and ScaledObject k scale the same target, and none acts on its metric while the others exist. Keep one of them",
		},
		"misreads": {NotReading(with(func(s *scaling.Scaler) { s.Misread = "why" })), "HorizontalPodAutoscaler h does not read the decision: why"},
		"cannot read": {
			NotReading(with(func(s *scaling.Scaler) { s.Inactive = inactive })),
			"HorizontalPodAutoscaler h does not read the decision. It says: FailedGetExternalMetric: read tcp 10.0.0.2:443: i/o timeout",
		},
		"misreads, and says nothing": {
			NotReading(with(func(s *scaling.Scaler) { s.Misread, s.Inactive.Reason = "why", "AmbiguousSelector" })),
			"HorizontalPodAutoscaler h does not read the decision: why. It says: AmbiguousSelector",
		},
		"has not read it": {
			NotReading(with(func(s *scaling.Scaler) {
				s.Unread = scaling.Trouble{Reason: "NoValue", Message: "its status has no value of x"}
			})),
			"HorizontalPodAutoscaler h does not read the decision: its status has no value of x",
		},
		"confined": {
			Confined(with(func(s *scaling.Scaler) { s.Bounds.Max = 1 })),
			"HorizontalPodAutoscaler h keeps the target as it is: minReplicas is 1 and maxReplicas is 1. " +
				"The bounds of this object allow other numbers, and none of them would be carried out. Change that, or the bounds of this object",
		},
		"confined by a direction": {
			Confined(with(func(s *scaling.Scaler) { s.Up.Disabled = true })),
			"HorizontalPodAutoscaler h keeps the target as it is: minReplicas is 1 and maxReplicas is 3, " +
				"and spec.behavior.scaleUp.selectPolicy is Disabled. " +
				"The bounds of this object allow other numbers, and none of them would be carried out. Change that, or the bounds of this object",
		},
		"limited": {
			BeyondBounds(h, 9, scaling.HPAZero{}),
			"HorizontalPodAutoscaler h keeps the target between minReplicas 1 and maxReplicas 3, and the decision is beyond. Change them, or the bounds of this object",
		},
		"limited by KEDA": {
			BeyondBounds(k, 200, scaling.HPAZero{}),
			"ScaledObject k keeps the target between minReplicaCount 0 and maxReplicaCount 100, and the decision is beyond. Change them, or the bounds of this object",
		},
		"kept from zero": {
			BeyondBounds(h, 0, scaling.HPAZero{}),
			`HorizontalPodAutoscaler h keeps the target from zero: its minReplicas is 1. Set the annotation wva.llmd.ai/actuation of this object to "zero"`,
		},
		"kept from zero by 1.36": {
			BeyondBounds(h, 0, scaling.HPAZeroOf(scaling.Release{Major: 1, Minor: 36}, false)), "HorizontalPodAutoscaler h keeps the target from zero: its minReplicas is 1. " +
				"Kubernetes 1.36 refuses 0 unless its feature gate HPAScaleToZero is on, which it is by default from 1.37. " +
				`Set the annotation wva.llmd.ai/actuation of this object to "zero"`,
		},
		"kept from zero in 1.37": {
			BeyondBounds(h, 0, scaling.HPAZeroOf(scaling.Release{Major: 1, Minor: 37}, false)), "HorizontalPodAutoscaler h keeps the target from zero: its minReplicas is 1. " +
				`Set it to 0, or set the annotation wva.llmd.ai/actuation of this object to "zero"`,
		},
		"at zero": {
			AtZero(h), "HorizontalPodAutoscaler h stands still while its target has zero replicas (ScalingDisabled). " +
				`Start the first replica, or set the annotation wva.llmd.ai/actuation of this object to "zero"`,
		},
		"at zero, by another": {
			AtZero(with(func(s *scaling.Scaler) { s.Bounds.Min = 0 })), "HorizontalPodAutoscaler h stands still while its target has zero replicas (ScalingDisabled). " +
				"It starts only a target that it took to zero itself. " +
				`Start the first replica, or set the annotation wva.llmd.ai/actuation of this object to "zero"`,
		},
		"disabled": {
			Disabled(h, "scaleDown"),
			"HorizontalPodAutoscaler h never goes there: spec.behavior.scaleDown.selectPolicy is Disabled",
		},
		"tolerated": {
			Tolerated(h, "scaleUp", scaling.ScalerRules{Tolerance: 0.1}),
			`HorizontalPodAutoscaler h takes the decision for no difference to what runs: its tolerance is the cluster's, 10 % unless changed. Set spec.behavior.scaleUp.tolerance to "0"`,
		},
		"tolerated by one": {
			Tolerated(h, "scaleUp", scaling.ScalerRules{Tolerance: 0.055, Explicit: true}),
			`HorizontalPodAutoscaler h takes the decision for no difference to what runs: spec.behavior.scaleUp.tolerance is 5.5 %. Set it to "0"`,
		},
		"not moving":       {NotMoving(by(), 2), NotFollowing(scaling.ReasonTargetNotMoving)},
		"nothing is known": {NotMoving(scaling.Scalers{}, 2), NotFollowing(scaling.ReasonTargetNotMoving)},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if tt.got != tt.want {
				t.Errorf("got  %q\nwant %q", tt.got, tt.want)
			}
		})
	}
	if long := NotReading(with(func(s *scaling.Scaler) { s.Inactive.Reason, s.Inactive.Message = "R", strings.Repeat("ä", 400) })); len([]rune(long)) > faultAtMost+100 {
		t.Errorf("a message of %d runes", len([]rune(long)))
	}
}
