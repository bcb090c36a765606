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

// How often an API server is asked which release it is: a cluster is upgraded while
// this process runs, and one that does not answer soon does.
const (
	releaseEvery = time.Hour
	releaseRetry = time.Minute
	// releaseWithin bounds one question: it is one small request.
	releaseWithin = 10 * time.Second
)

// AskVersion asks an API server for its version.
type AskVersion func(ctx context.Context) (*version.Info, error)

// Release knows which release of Kubernetes an API server is. A nil Release and one
// that has no answer yet know nothing. It is safe for concurrent use.
type Release struct {
	ask   AskVersion
	clock clock.Clock
	last  atomic.Pointer[scaling.Release]
}

// NewRelease returns a Release that knows nothing before Run.
func NewRelease(clk clock.Clock, ask AskVersion) *Release { return &Release{ask: ask, clock: clk} }

// Run asks at once, then every hour, until ctx ends, and returns nil. An API server that
// does not answer is asked again after a minute; what it answered before stays known.
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

// releaseOf returns the release whose defaults an API server has: that which it
// emulates, where it does. Some vendors write a minor version as "36+".
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
