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

// denied is how the API server words that an admission webhook refuses, by its name.
var denied = regexp.MustCompile(`admission webhook "([^"]+)" denied`)

// Reasons of a Trouble that need not be those of the API server.
const (
	timeout  = "Timeout"
	notTried = "NotTried"
)

// trouble is a Trouble, and by whom: what another program says may differ each time,
// by an ID of the request, while it still refuses the same.
type trouble struct {
	scaling.Trouble
	by string // a webhook, the message where it is ours, "" for any other
}

// ours is a trouble in words that do not differ from one attempt to the next.
func ours(reason, format string, args ...any) trouble {
	message := fmt.Sprintf(format, args...)
	return trouble{scaling.Trouble{Reason: reason, Message: message}, message}
}

// undone says that what is set does not stay so, by the reason that this has for
// every scaler.
func undone() trouble {
	return ours(string(scaling.ReasonTargetNotMoving), "they were changed %d times in a row or more, so it waits longer "+
		"each time before it sets them, %s at most", undoneOften, longestPause)
}

// untried says that there was no time to begin with a target.
func untried() trouble {
	return ours(notTried, "others did not answer within %s, so it was not its turn", beginsWithin)
}

// troubleOf says why a scale could not be set, for the owner of the object.
func troubleOf(err error) trouble {
	missing, refused := rbac.Missing(err)
	switch {
	case refused:
		return ours("Forbidden", "%s", missing.Grant(rbac.ScalerRole))
	case apierrors.IsConflict(err):
		return ours("Conflict", "the target was changed by somebody else each of %d times", attempts)
	case apierrors.IsNotFound(err):
		return ours("NotFound", "it does not exist, or has no scale subresource")
	case errors.Is(err, scaling.ErrClusterScoped):
		return ours("ClusterScoped", "%s", scaling.ErrClusterScoped)
	case meta.IsNoMatchError(err):
		return ours("NoKind", "the cluster has no such kind")
	case errors.Is(err, context.DeadlineExceeded):
		return ours(timeout, "the API server did not answer within %s", patience)
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
