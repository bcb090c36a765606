package scaling

import (
	"math"
	"testing"
)

func TestAcceleratorsAreCountedWithoutWrappingAround(t *testing.T) {
	for _, tt := range []struct {
		requested, said Accelerators
		replicas        Replicas
		want            Accelerators
	}{
		{0, 2, 3, 6},
		{4, 2, 3, 12},
		{4, 2, -1, 0},
		{0, 0, 3, 3},
		{0, math.MaxInt32, math.MaxInt32, 1 << 40},
		{math.MaxInt, 1, math.MaxInt, 1 << 40},
	} {
		if got := (Variant{GPUsRequested: tt.requested, GPUsPerReplica: tt.said}).GPUs(tt.replicas); got != tt.want {
			t.Errorf("%+v: got %d", tt, got)
		}
	}
}
