package scalers

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/version"
	"k8s.io/utils/clock"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

func TestAReleaseIsReadFromWhatAPIServersSay(t *testing.T) {
	tests := map[string]struct {
		info  version.Info
		want  scaling.Release
		valid bool
	}{
		"plain":                     {version.Info{Major: "1", Minor: "37"}, scaling.Release{Major: 1, Minor: 37}, true},
		"a vendor's":                {version.Info{Major: "1", Minor: "36+"}, scaling.Release{Major: 1, Minor: 36}, true},
		"1.37 that emulates 1.36":   {version.Info{Major: "1", Minor: "37", EmulationMajor: "1", EmulationMinor: "36"}, scaling.Release{Major: 1, Minor: 36}, true},
		"nothing, as of some proxy": {version.Info{}, scaling.Release{}, false},
		"no numbers":                {version.Info{Major: "v1", Minor: "x"}, scaling.Release{}, false},
		"below zero":                {version.Info{Major: "1", Minor: "-1"}, scaling.Release{}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := releaseOf(&tt.info)
			if got != tt.want || (err == nil) != tt.valid {
				t.Errorf("got %v, %v, want %v, an error: %t", got, err, tt.want, !tt.valid)
			}
		})
	}
}

func TestAReleaseIsAskedForAgainAfterAFailureAndAnUpgrade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		answers := []version.Info{{}, {Major: "1", Minor: "36"}, {}, {Major: "1", Minor: "37"}} // {}: no answer
		r := NewRelease(clock.RealClock{}, func(context.Context) (*version.Info, error) {
			answer := answers[min(int(asked.Add(1)), len(answers))-1]
			if answer.Major == "" {
				return nil, errors.New("no route")
			}
			return &answer, nil
		})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- r.Run(ctx) }()
		for _, step := range []struct {
			after time.Duration
			want  string
			asked int64
		}{
			{0, "", 1},
			{releaseRetry, "1.36", 2},
			{releaseEvery - time.Second, "1.36", 2},
			{time.Second, "1.36", 3}, // no answer: the one before stays
			{releaseRetry, "1.37", 4},
		} {
			time.Sleep(step.after)
			synctest.Wait()
			if got := r.known().String(); got != step.want || asked.Load() != step.asked {
				t.Errorf("%s later: got %q of %d questions, want %q of %d", step.after, got, asked.Load(), step.want, step.asked)
			}
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestNoReleaseIsNotKnown(t *testing.T) {
	var r *Release
	if got := r.known(); got != (scaling.Release{}) {
		t.Errorf("got %v, want nothing", got)
	}
}
