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

// denied matches the API server's message when an admission webhook refuses, with the name
// of the webhook.
var denied = regexp.MustCompile(`admission webhook "([^"]+)" denied`)

// Reasons of a Trouble that are not reasons of the API server.
const (
	timeout  = "Timeout"
	notTried = "NotTried"
)

// trouble is a Trouble and its cause. A message of another program may differ each time,
// for instance by the ID of the request, although the cause is the same.
type trouble struct {
	scaling.Trouble
	by string // a webhook, the message where it is ours, "" for any other
}

// troubleWithMessage returns a trouble whose message does not differ between attempts.
func troubleWithMessage(reason, format string, args ...any) trouble {
	message := fmt.Sprintf(format, args...)
	return trouble{scaling.Trouble{Reason: reason, Message: message}, message}
}

// conflictTrouble returns the trouble of a target whose replicas another client keeps changing,
// with the reason that all scalers use for it.
func conflictTrouble() trouble {
	return troubleWithMessage(string(scaling.ReasonTargetNotMoving), "they were changed %d times in a row or more, so it waits longer "+
		"each time before it sets them, %s at most", revertsBeforePause, longestPause)
}

// notAttempted returns the trouble of a target for which no time was left.
func notAttempted() trouble {
	return troubleWithMessage(notTried, "others did not answer within %s, so it was not its turn", beginsWithin)
}

// troubleOf returns why a scale could not be set, for the owner of the object.
func troubleOf(err error) trouble {
	missing, refused := rbac.Missing(err)
	switch {
	case refused:
		return troubleWithMessage("Forbidden", "%s", missing.Grant(rbac.ScalerRole))
	case apierrors.IsConflict(err):
		return troubleWithMessage("Conflict", "the target was changed by another writer each of %d times", attempts)
	case apierrors.IsNotFound(err):
		return troubleWithMessage("NotFound", "it does not exist, or has no scale subresource")
	case errors.Is(err, scaling.ErrClusterScoped):
		return troubleWithMessage("ClusterScoped", "%s", scaling.ErrClusterScoped)
	case meta.IsNoMatchError(err):
		return troubleWithMessage("NoKind", "the cluster has no such kind")
	case errors.Is(err, context.DeadlineExceeded):
		return troubleWithMessage(timeout, "the API server did not answer within %s", patience)
	}
	quoted := trouble{Trouble: scaling.Trouble{Reason: "Failed", Message: err.Error()}}
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		quoted.Trouble = scaling.Trouble{Reason: string(apierrors.ReasonForError(err)), Message: status.Status().Message}
	}
	if webhook := denied.FindStringSubmatch(err.Error()); webhook != nil {
		quoted.by = webhook[1]
	}
	return quoted
}

// outcomeOf returns the outcome of an attempt, for the counter.
func outcomeOf(err error) metrics.Outcome {
	switch {
	case apierrors.IsForbidden(err):
		return metrics.Forbidden
	case apierrors.IsConflict(err):
		return metrics.Conflict
	}
	return metrics.OutcomeOf(err)
}
