package main

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/collectortest"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/cycle"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// atRest is a page of replicas that get no request.
var atRest = collectortest.Page{Interval: 15 * time.Second, CacheTokens: 10_000, WithoutRequests: true, WithoutGateway: true}

// restsFor runs a cycle every 30 seconds over a fleet at rest, and returns when,
// since an instant, its first model, m000, was decided to have fewer replicas, and
// how many.
func (l *lab) restsFor(t *testing.T, began time.Time, minutes int) []string {
	t.Helper()
	c := &cycle.Cycle{Clock: clock.RealClock{}, Cluster: l, Collector: l.meter, Recorder: l.book, Actuator: l, Policy: l.policies().decides}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { _ = l.idle.Run(ctx) }()
	last := 2
	var out []string
	for range 2 * minutes {
		time.Sleep(30 * time.Second)
		now := clock.RealClock{}.Now()
		recent := l.source.Rows(query.AskRecent)
		l.source.Clear()
		l.source.SetNow(now)
		l.source.Serve(l.fleet, atRest)
		l.source.Answer(query.AskRecent, recent...)
		l.fleet.At = now
		if err := c.Run(t.Context(), 30*time.Second); err != nil {
			t.Fatal(err)
		}
		record, _ := l.book.Latest()
		if d := record.Plan.Decisions[0]; d.Target() < scaling.Replicas(last) {
			last = int(d.Target())
			out = append(out, fmt.Sprintf("%d %s after %s", last, d.Cause().Reason, now.Sub(began)))
		}
	}
	return out
}

// zeroEffects are what the keys of scale to zero change. Each is seen with entries
// beside it, whether it is there or not, and comes into force after 4 minutes.
var zeroEffects = []struct {
	in            config.Kind
	key           string
	beside        []string // of the scale to zero ConfigMap, as pairs
	without, with string   // the value of the key itself, else of the entry model.x
	before, after []string // the quiet is known since the first cycle, after 30s
}{
	{config.KindSettings, "WVA_SCALE_TO_ZERO", nil, "", "true", nil, []string{"0 Idle after 11m0s"}},
	{
		config.KindScaleToZero, "enableScaleToZero", nil, "modelID: m000", "modelID: m000\nenableScaleToZero: true",
		nil,
		[]string{"0 Idle after 11m0s"},
	},
	{
		config.KindScaleToZero, "retentionPeriod",
		[]string{"default", "enable_scale_to_zero: true"},
		"modelID: m000", "modelID: m000\nretentionPeriod: 6m",
		[]string{"0 Idle after 11m0s"},
		[]string{"0 Idle after 7m0s"},
	},
	{
		config.KindScaleToZero, "modelID", nil, "modelID: another\nenableScaleToZero: true", "modelID: m000\nenableScaleToZero: true",
		nil,
		[]string{"0 Idle after 11m0s"},
	},
	{
		config.KindScaleToZero, "namespace", nil, "modelID: m000\nnamespace: elsewhere\nenableScaleToZero: true", "modelID: m000\nnamespace: serving\nenableScaleToZero: true",
		nil,
		[]string{"0 Idle after 11m0s"},
	},
}

func TestAKeyOfScaleToZeroChangesWhatIsDecided(t *testing.T) {
	for _, tt := range zeroEffects {
		t.Run(tt.key, func(t *testing.T) {
			see := func(value string) (seen []string) {
				synctest.Test(t, func(t *testing.T) {
					// Nothing but zero takes replicas away: all else waits for an hour.
					l := newLab(t, start{})
					l.configure(config.KindSaturation, "default", "scaleDownStabilization: 1h")
					l.configure(config.KindScaleToZero, tt.beside...)
					began := clock.RealClock{}.Now()
					seen = l.restsFor(t, began, 4)
					if tt.in == config.KindSettings {
						if value != "" {
							l.configure(config.KindSettings, tt.key, value)
						}
					} else if found := l.configure(config.KindScaleToZero, append([]string{"model.x", value}, tt.beside...)...); len(found) > 0 {
						t.Fatalf("not in force: %v", found)
					}
					seen = append(seen, l.restsFor(t, began, 8)...)
				})
				return seen
			}
			if diff := cmp.Diff(tt.before, see(tt.without)); diff != "" {
				t.Errorf("without (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.after, see(tt.with)); diff != "" {
				t.Errorf("with (-want +got):\n%s", diff)
			}
		})
	}
}

// TestANewProcessIsToldSinceWhenAModelIsIdle: a manager that was started a
// minute and a second before the period ends.
func TestANewProcessIsToldSinceWhenAModelIsIdle(t *testing.T) {
	for name, tt := range map[string]struct {
		ago  time.Duration // what the source says, 0 for nothing
		want []string
	}{
		// The second cycle asks, and may have the answer itself or leave it to the third.
		"for nearly as long": {10*time.Minute - 61*time.Second, []string{"0 Idle after 1m30s"}},
		"for half as long":   {5 * time.Minute, []string{"0 Idle after 5m30s"}},
		"nothing":            {0, []string{"0 Idle after 10m0s"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLab(t, start{})
				l.configure(config.KindSettings, "WVA_SCALE_TO_ZERO", "true")
				for i := range l.fleet.Variants {
					l.fleet.Variants[i].Replicas.NewestReady = l.fleet.At.Add(-time.Hour)
				}
				l.configure(config.KindSaturation, "default", "scaleDownStabilization: 1h")
				began := clock.RealClock{}.Now()
				if tt.ago > 0 {
					l.source.Answer(query.AskRecent, collectortest.ModelRow(query.NoRequestSince, collectortest.Namespace, "m000", collectortest.Unix(began.Add(-tt.ago))))
				}
				if diff := cmp.Diff(tt.want, l.restsFor(t, began, 12)); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}
