package emulator

import (
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/serving"
)

// wakes returns after which of the first five tokens the stream wakes.
func wakes(s *stream) []int {
	var got []int
	for n := 1; n <= 5; n++ {
		s.produced(n)
		select {
		case <-s.wake:
			got = append(got, n)
		default:
		}
	}
	return got
}

func TestManyStreamsSendSeveralTokensAtATime(t *testing.T) {
	for _, c := range []struct {
		open int64
		want []int
	}{{1, []int{1, 2, 3, 4, 5}}, {999, []int{1, 2, 3, 4, 5}}, {1000, []int{1, 2, 4}}, {2500, []int{1, 3}}} {
		var open atomic.Int64
		open.Store(c.open)
		if d := cmp.Diff(wakes(newStream(&open)), c.want); d != "" {
			t.Errorf("%d open (-got +want):\n%s", c.open, d)
		}
	}
	whole := newStream(nil)
	if got := wakes(whole); got != nil {
		t.Errorf("sent whole: woke after %v, want only at the end", got)
	}
	whole.finished(serving.Request{OutputTokens: 5})
	<-whole.wake
	if !whole.progress().done || whole.progress().tokens != 5 {
		t.Errorf("got %+v, want it done with 5 tokens", whole.progress())
	}
}
