//go:build e2e && soak

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/test/testbed"
)

// TestFitsOutliveTheManager has a replica serve until its speed is known and starts the
// manager again, which then knows it at its first look.
func TestFitsOutliveTheManager(t *testing.T) {
	const ns, name = "store", "fast"
	configure(t, ns, "service-classes-config", map[string]string{"premium": class("Premium", 1, "meta/"+name)})
	deploy(t, aside(ns, name))
	hasReady(t, ns, name, 1)
	load(t, ns, "meta/"+name, "constant(1,900s)")
	eventually(t, 8*time.Minute, func(ctx context.Context) string {
		e, err := explained(ctx, shared.manager, ns, name)
		if err != nil {
			return err.Error()
		}
		//nolint:contextcheck // a command has a deadline of its own
		if out := stored(t); !strings.Contains(out, "fast ITL ") {
			return fmt.Sprintf("the store does not have how fast the replica is, of which is known %+v:\n%s", e.Past.Fit, out)
		}
		return ""
	})
	restart(t, testbed.ManagerOptions{Interval: interval})
	eventually(t, time.Minute, func(ctx context.Context) string {
		e, err := explained(ctx, shared.manager, ns, name)
		if err != nil {
			return err.Error()
		}
		// The first look counts for a window, and each further one for a thirtieth.
		if itl, _ := e.Past.Fit.Sums(); itl.Samples < 2 {
			t.Fatalf("the manager that began anew knows of the speed of the replica only %+v, want the two windows of the store", e.Past.Fit)
		}
		return ""
	})
}
