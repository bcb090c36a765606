package subresource

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/llm-d-incubation/workload-variant-autoscaler/config/rbac"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/metrics"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// unauthorized is how the API server words what its roles do not allow: the verb,
// the resource, and the API group. An admission plugin that forbids something
// words it otherwise.
var unauthorized = regexp.MustCompile(`cannot (\w+) resource "([^"]+)" in API group "([^"]*)"`)

// troubleOf says why a scale could not be set, for the owner of the object, with
// nothing that differs from one attempt to the next.
func troubleOf(err error) scaling.Trouble {
	missing := unauthorized.FindStringSubmatch(err.Error())
	switch {
	case missing != nil:
		return scaling.Trouble{Reason: "Forbidden", Message: fmt.Sprintf("the manager may not %s %s of API group %q. "+
			"Bind the ClusterRole %s to its account", missing[1], missing[2], missing[3], rbac.ScalerRole)}
	case apierrors.IsConflict(err):
		return scaling.Trouble{Reason: "Conflict", Message: fmt.Sprintf("the target was changed by somebody else each of %d times", attempts)}
	case apierrors.IsNotFound(err):
		return scaling.Trouble{Reason: "NotFound", Message: "it does not exist, or has no scale subresource"}
	case meta.IsNoMatchError(err):
		return scaling.Trouble{Reason: "NoKind", Message: "the cluster has no such kind"}
	case errors.Is(err, context.DeadlineExceeded):
		return scaling.Trouble{Reason: "Timeout", Message: fmt.Sprintf("the API server did not answer within %s", patience)}
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return scaling.Trouble{Reason: string(apierrors.ReasonForError(err)), Message: status.Status().Message}
	}
	return scaling.Trouble{Reason: "Failed", Message: err.Error()}
}

// outcomeOf is how an attempt ended, for the count of them.
func outcomeOf(err error) metrics.Outcome {
	switch {
	case apierrors.IsForbidden(err):
		return metrics.Forbidden
	case apierrors.IsConflict(err):
		return metrics.Conflict
	}
	return metrics.OutcomeOf(err)
}
