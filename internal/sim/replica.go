package sim

import (
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/serving"
)

// Replica serves requests. All results use *serving.Replica; tests may use another whose behaviour
// is known in closed form. The methods mean what they mean there. A run ignores Token, Refused,
// Aborted and Step events.
type Replica interface {
	Submit(now time.Duration, req serving.Request) serving.Refusal
	Next() (at time.Duration, ok bool)
	Advance(now time.Duration, buf []serving.Event) []serving.Event
	Load() int
	Stats() serving.Stats
	Abort(now time.Duration, id uint64) bool
}

var _ Replica = (*serving.Replica)(nil)

// newReplica makes a replica of the variant.
func (v *Variant) newReplica() (Replica, error) {
	if v.Replica != nil {
		return v.Replica()
	}
	return serving.New(v.Profile, serving.Options{Milestones: true})
}
