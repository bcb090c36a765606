package main

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/collectortest"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/cycle"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/ledger"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// fixedStock is a stock of one type of accelerator.
type fixedStock struct{ free int }

// Inventory implements cycle.Stock.
func (s fixedStock) Inventory(context.Context) scaling.Inventory {
	i := scaling.Inventory{Known: s.free >= 0}
	if s.free > 0 {
		i.Groups = []scaling.NodeGroup{{Accelerator: "A100", Total: 64, Free: []scaling.FreeNodes{{GPUs: scaling.Accelerators(s.free), Nodes: 1}}}}
	}
	return i
}

// decided returns what a cycle decides for the fleet's first model, m000, of two
// replicas on A100 that all show a page, with what is free: the number of
// replicas and the reason, and a word of the detail if it is there.
func decided(page collectortest.Page, stock fixedStock, word string) func(t *testing.T, l *lab) string {
	return func(t *testing.T, l *lab) string {
		t.Helper()
		for i := range l.fleet.Variants {
			l.fleet.Variants[i].Accelerator = "A100"
		}
		page.Interval, page.WithoutGateway = 15*time.Second, true
		l.source.Clear()
		l.source.Serve(l.fleet, page)
		book := ledger.New()
		c := &cycle.Cycle{
			Clock: clock.RealClock{}, Cluster: l, Collector: l.meter, Recorder: book, Actuator: l,
			Policy: l.policies().decides, Quotas: l.policies().quotas, Schedule: l.policies().schedule, Stock: stock,
		}
		if err := c.Run(t.Context(), time.Minute); err != nil {
			t.Fatal(err)
		}
		record, _ := book.Latest()
		d := record.Plan.Decisions[0]
		last := d.Steps[len(d.Steps)-1]
		for _, s := range d.Steps {
			if s.From != s.To {
				last = s
			}
		}
		text := fmt.Sprintf("%d %s", d.Target(), last.Reason)
		if word != "" && strings.Contains(d.Steps[0].Detail, word) {
			text += " " + word
		}
		return text
	}
}

// engineEffects are what the keys change that choose an engine and bound it. Each
// is seen with the entry default of the saturation ConfigMap beside it.
var engineEffects = []struct {
	in            config.Kind
	key           string
	entry         string // of the saturation ConfigMap, in any case
	without, with string // the value of the key default, quotas or of the key itself
	see           func(t *testing.T, l *lab) string
	before, after string
}{
	{config.KindSettings, "WVA_LIMITED_MODE", "", "false", "true", decided(full, fixedStock{0}, ""), "3 Saturated", "2 Shared"},
	{config.KindSaturation, "enableLimiter", "", "", "enableLimiter: true", decided(full, fixedStock{-1}, ""), "3 Saturated", "2 InventoryUnknown"},
	{config.KindSaturation, "analyzerName", "", "engine: saturation", "engine: saturation\nanalyzerName: saturation", decided(half, fixedStock{}, "tokens"), "2 Steady", "2 Steady tokens"},
	{config.KindSaturation, "scaleUpThreshold", "", "analyzerName: saturation", "analyzerName: saturation\nscaleUpThreshold: 0.5\nscaleDownBoundary: 0.4", decided(half, fixedStock{}, ""), "2 Steady", "3 Saturated"},
	{config.KindSaturation, "scaleDownBoundary", "", "analyzerName: saturation\nscaleDownStabilization: 0s", "analyzerName: saturation\nscaleDownStabilization: 0s\nscaleDownBoundary: 0.3", decided(low, fixedStock{}, ""), "1 SpareCapacity", "2 Steady"},
	{config.KindSaturation, "engine", "", "", "engine: queueing", decided(half, fixedStock{}, "ServiceClassMissing"), "2 Steady", "2 Steady ServiceClassMissing"},
	{config.KindQuota, "namespaceQuotas", "enableLimiter: true", "", "namespaceQuotas: {serving: {A100: 6}}", decided(full, fixedStock{8}, ""), "3 Saturated", "2 OverQuota"},
	{config.KindQuota, "default", "enableLimiter: true", "", "default: {A100: 6}", decided(full, fixedStock{8}, ""), "3 Saturated", "2 OverQuota"},
	{config.KindQuota, "exclude", "enableLimiter: true", "default: {A100: 6}", "default: {A100: 6}\nexclude: [serving]", decided(full, fixedStock{8}, ""), "2 OverQuota", "3 Saturated"},
	// The clock begins at midnight in UTC, on a Saturday.
	{config.KindSchedule, "allow", "", "allow: growth\ntimeZone: UTC\nto: 13:00", "allow: none\ntimeZone: UTC\nto: 13:00", decided(full, fixedStock{}, ""), "3 Saturated", "2 Frozen"},
	{config.KindSchedule, "timeZone", "", "allow: none\ntimeZone: Asia/Tokyo\nto: 01:00", "allow: none\ntimeZone: UTC\nto: 01:00", decided(full, fixedStock{}, ""), "3 Saturated", "2 Frozen"},
	{config.KindSchedule, "days", "", "allow: none\ntimeZone: UTC\ndays: [Sun-Fri]", "allow: none\ntimeZone: UTC\ndays: [Sat]", decided(full, fixedStock{}, ""), "3 Saturated", "2 Frozen"},
	{config.KindSchedule, "from", "", "allow: none\ntimeZone: UTC\nto: 13:00\nfrom: 12:00", "allow: none\ntimeZone: UTC\nto: 13:00\nfrom: 14:00", decided(full, fixedStock{}, ""), "3 Saturated", "2 Frozen"},
	{config.KindSchedule, "to", "", "allow: none\ntimeZone: UTC\nfrom: 12:00\nto: 13:00", "allow: none\ntimeZone: UTC\nfrom: 12:00\nto: 11:00", decided(full, fixedStock{}, ""), "3 Saturated", "2 Frozen"},
	{config.KindSchedule, "namespace", "", "allow: none\ntimeZone: UTC\nto: 13:00\nnamespace: elsewhere", "allow: none\ntimeZone: UTC\nto: 13:00\nnamespace: serving", decided(full, fixedStock{}, ""), "3 Saturated", "2 Frozen"},
	{config.KindSchedule, "model", "", "allow: none\ntimeZone: UTC\nto: 13:00\nmodel: m001", "allow: none\ntimeZone: UTC\nto: 13:00\nmodel: m000", decided(full, fixedStock{}, ""), "3 Saturated", "2 Frozen"},
	{config.KindSchedule, "variant", "", "allow: none\ntimeZone: UTC\nto: 13:00\nvariant: other", "allow: none\ntimeZone: UTC\nto: 13:00\nvariant: m000", decided(full, fixedStock{}, ""), "3 Saturated", "2 Frozen"},
}

// Pages of replicas whose KV caches are full, half full, and as good as empty.
var (
	full = collectortest.Page{KVCacheUsage: 0.95, CacheTokens: 10_000, Running: 8, Input: 500, Output: 100, Completions: 1}
	half = collectortest.Page{KVCacheUsage: 0.5, CacheTokens: 10_000, Running: 8, Input: 500, Output: 100, Completions: 1}
	low  = collectortest.Page{KVCacheUsage: 0.2, CacheTokens: 10_000, Running: 3, Input: 500, Output: 100, Completions: 1}
)

func TestAKeyOfAnEngineChangesWhatIsDecided(t *testing.T) {
	for _, tt := range engineEffects {
		t.Run(tt.key, func(t *testing.T) {
			see := func(value string) (seen string) {
				synctest.Test(t, func(t *testing.T) {
					l := newLab(t, start{})
					if tt.entry != "" {
						l.configure(config.KindSaturation, "default", tt.entry)
					}
					key := map[config.Kind]string{config.KindSettings: tt.key, config.KindSaturation: "default", config.KindQuota: "quotas", config.KindSchedule: "w"}[tt.in]
					if value != "" {
						if found := l.configure(tt.in, key, value); len(found) > 0 {
							t.Fatalf("not in force: %v", found)
						}
					}
					seen = tt.see(t, l)
				})
				return seen
			}
			if got := see(tt.without); got != tt.before {
				t.Errorf("without: got %q, want %q", got, tt.before)
			}
			if got := see(tt.with); got != tt.after {
				t.Errorf("with: got %q, want %q", got, tt.after)
			}
		})
	}
}
