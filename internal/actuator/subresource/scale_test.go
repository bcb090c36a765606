package subresource

import (
	"fmt"
	"testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

func TestATargetOfTheClusterIsToldToItsOwner(t *testing.T) {
	err := fmt.Errorf("reading the scale: %w", scaling.ErrClusterScoped)
	if got := troubleOf(err); got.Reason != "ClusterScoped" || got.Message != scaling.ErrClusterScoped.Error() {
		t.Errorf("the owner is told %+v, want ClusterScoped", got.Trouble)
	}
}
