package scalers

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/version"
	"k8s.io/utils/clock"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// The API server is asked for its release every releaseEvery, because clusters are upgraded while
// this process runs, and after releaseRetry where it did not answer.
const (
	releaseEvery = time.Hour
	releaseRetry = time.Minute
	// releaseWithin limits one request, which is small.
	releaseWithin = 10 * time.Second
)

// AskVersion asks an API server for its version.
type AskVersion func(ctx context.Context) (*version.Info, error)

// Release holds the Kubernetes release of an API server. A nil Release, and one without an answer
// yet, know nothing. It is safe for concurrent use.
type Release struct {
	ask   AskVersion
	clock clock.Clock
	last  atomic.Pointer[scaling.Release]
}

// NewRelease returns a Release that knows nothing before Run.
func NewRelease(clk clock.Clock, ask AskVersion) *Release { return &Release{ask: ask, clock: clk} }

// Run asks at once, then every hour, until ctx ends, and returns nil. After a failure it asks again
// in a minute, and keeps the last answer.
func (r *Release) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		wait := releaseEvery
		if release, err := r.read(ctx); err != nil {
			wait = releaseRetry
		} else {
			r.last.Store(&release)
		}
		timer := r.clock.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
		case <-timer.C():
		}
	}
	return nil
}

// known returns the last answer, zero before the first.
func (r *Release) known() scaling.Release {
	if r == nil || r.last.Load() == nil {
		return scaling.Release{}
	}
	return *r.last.Load()
}

func (r *Release) read(ctx context.Context) (scaling.Release, error) {
	ctx, cancel := context.WithTimeout(ctx, releaseWithin)
	defer cancel()
	info, err := r.ask(ctx)
	if err != nil {
		return scaling.Release{}, fmt.Errorf("asking the API server for its version: %w", err)
	}
	return releaseOf(info)
}

// releaseOf returns the release whose defaults an API server has: the release that it emulates, if
// any, else its own. Some vendors write a minor version as "36+".
func releaseOf(info *version.Info) (scaling.Release, error) {
	major, minor := info.Major, info.Minor
	if info.EmulationMajor != "" && info.EmulationMinor != "" {
		major, minor = info.EmulationMajor, info.EmulationMinor
	}
	var out scaling.Release
	for _, part := range []struct {
		text string
		into *int
	}{{major, &out.Major}, {minor, &out.Minor}} {
		n, err := strconv.Atoi(strings.TrimSuffix(part.text, "+"))
		if err != nil || n < 0 {
			return scaling.Release{}, fmt.Errorf("reading version %s.%s of the API server: want two numbers", major, minor)
		}
		*part.into = n
	}
	return out, nil
}
