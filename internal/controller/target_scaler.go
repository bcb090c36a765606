package controller

import (
	"math"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// TargetScaler sets the replicas of targets where their variants ask for it.
type TargetScaler interface {
	// Trouble returns why the replicas of the target of a variant could not be set; the zero value
	// where they could be, or need not be. The reason TargetNotMoving means that they were set and
	// another writer keeps changing them. known is false before this process has carried out a
	// plan.
	Trouble(key scaling.VariantKey) (trouble scaling.Trouble, known bool)
	// Watch returns a channel that receives when any of this changes.
	Watch() <-chan struct{}
}

// scaleOutcome is the outcome of setting the replicas of a target.
type scaleOutcome struct {
	trouble scaling.Trouble // why they could not be set
	acted   bool            // whether that is known
}

// withActuation returns the condition of the configuration of va, with the problem of its actuation
// annotation added, if any.
func withActuation(c stated, va *v1alpha1.VariantAutoscaling, by scaling.Scalers) stated {
	p := actuationProblem(va, by)
	switch {
	case p.text == "":
		return c
	case c.Reason == string(v1alpha1.ReasonInvalidConfiguration):
		c.Message, c.fact = p.text+"; "+c.Message, p.fact+factEnd+c.fact
		return c
	}
	return stated{condition(v1alpha1.ConditionConfigurationValid, metav1.ConditionFalse, v1alpha1.ReasonInvalidConfiguration, p.text), p.fact}
}

// actuationProblem returns why the actuation annotation of va is not in force, the zero value where
// it is.
func actuationProblem(va *v1alpha1.VariantAutoscaling, by scaling.Scalers) problem {
	value := va.Annotations[v1alpha1.AnnotationActuation]
	asked, valid := scaling.ActuationOf(value)
	switch {
	case !valid:
		err := config.FieldError{
			Key: "annotation " + v1alpha1.AnnotationActuation, Value: firstOf(value, longestFinding/4), Want: `"metrics", "zero", "scale" or "advisory"`,
		}
		return problem{err.Error() + `; in force: "metrics"`, fieldFact(err.Key, err.Value)}
	case asked != scaling.ActuationScale || by.Own != asked:
		return problem{}
	case !by.Known: // a new process has not read the others yet
		if other, named := twoScalersOf(va.Status); named {
			return twoScalers(other)
		}
	case by.InForce() != asked:
		return twoScalers(by.List[0])
	}
	return problem{}
}

// twoScalers says that another scaler sets the replicas that the manager was asked to set.
func twoScalers(other scaling.Scaler) problem {
	return problem{explain.TwoScalers(other), factTwoScalers + other.Kind + " " + other.Name}
}

// actionGracePeriod is the action of the event that reports a grace period that is too short.
const actionGracePeriod = "RaiseGracePeriod"

// tellGrace reports, once for each grace period, that requests take longer than a pod may take to
// end. It does so for variants whose replicas this process removes itself.
func (s *Status) tellGrace(va *v1alpha1.VariantAutoscaling, v view) {
	if !v.explained || v.suppressed(keyOf(va)) {
		return
	}
	if mode := v.scalers.InForce(); mode == scaling.ActuationMetrics || mode == scaling.ActuationAdvisory {
		return
	}
	grace, response := s.scalers.GracePeriod(keyOf(va)), responseTime(v.Snapshot.Load)
	if grace == 0 || response <= grace || !s.graces.begins(keyOf(va), grace) {
		return
	}
	note := explain.ShortGracePeriod(v.Variant.Target, grace.Seconds(), response.Seconds())
	s.events.Eventf(va, nil, corev1.EventTypeWarning, eventInvalidConfiguration, actionGracePeriod, "%s", explain.Noted(note, v.cycle))
}

// responseQuantile is the share of requests that stay below the estimated response time.
const responseQuantile = 0.99

// responseTime estimates the response time below which 99 of 100 requests stay, 0 where it is
// unknown:
//
//	p99 = TTFT + ITL * output tokens * ln 100
//
// TTFT is its p99 where the distribution is known, else its mean. Only the mean of the output
// tokens is measured, so their quantile is that of an exponential distribution.
func responseTime(l scaling.Load) time.Duration {
	if !l.TTFT.Known() || !l.ITL.Known() || !l.OutputTokens.Known() {
		return 0
	}
	first := l.TTFT.Value
	if tail, ok := l.TTFTBuckets.Quantile(responseQuantile); ok {
		first = tail.Value
	}
	tokens := l.OutputTokens.Value * -math.Log(1-responseQuantile)
	return time.Duration((first + l.ITL.Value*tokens) * float64(time.Millisecond))
}
