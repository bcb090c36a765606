package actuator

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/actuator/external"
)

const (
	// eventInvalidConfiguration is the reason of the event, actionSelect its action.
	eventInvalidConfiguration = "InvalidConfiguration"
	actionSelect              = "SelectOneVariant"

	// reportAgainAfter is how often an ambiguity that lasts is reported: an API server keeps
	// events for an hour.
	reportAgainAfter = time.Hour

	// rememberedAtMost limits how many ambiguities are remembered at a time, and with it
	// the memory that a client can fill. Further ambiguities are not reported.
	rememberedAtMost = 1000

	// namedAtMost limits how many variants an event names and goes to.
	namedAtMost = 10

	// selectorAtMost and namesAtMost limit parts of an event's note, in bytes: with
	// a namespace of 63 it stays below the API's 1024.
	selectorAtMost = 150
	namesAtMost    = 550
)

// Ambiguities reports to the owners of variants that the selector of an autoscaler matches
// several variants and adds them up: an event on each variant, and a line in the log. It is
// safe for concurrent use.
type Ambiguities struct {
	reader client.Reader
	events events.EventRecorder
	clock  clock.PassiveClock
	log    logr.Logger

	mu   sync.Mutex
	told map[string]time.Time // by the key that makes two ambiguities equal
}

// AmbiguitiesOptions are the parts of Ambiguities, all of them required.
type AmbiguitiesOptions struct {
	Reader client.Reader // a cache
	Events events.EventRecorder
	Clock  clock.PassiveClock
	Log    logr.Logger
}

// NewAmbiguities returns Ambiguities without reports.
func NewAmbiguities(o AmbiguitiesOptions) *Ambiguities {
	return &Ambiguities{reader: o.Reader, events: o.Events, clock: o.Clock, log: o.Log, told: map[string]time.Time{}}
}

// Report reports an ambiguity, once an hour while it lasts. A variant that cannot be read
// gets no event.
func (a *Ambiguities) Report(ctx context.Context, several external.Ambiguity) {
	if !a.due(several) {
		return
	}
	what := describe(several)
	a.log.Info("external metric selects several variants", "namespace", several.Namespace, "reason", what)
	for _, key := range several.Variants[:min(len(several.Variants), namedAtMost)] {
		var va v1alpha1.VariantAutoscaling
		if err := a.reader.Get(ctx, client.ObjectKey{Namespace: key.Namespace, Name: key.Name}, &va); err != nil {
			a.log.V(1).Info("external metric: variant cannot be told", "namespace", key.Namespace, "variant", key.Name, "err", err.Error())
			continue
		}
		a.events.Eventf(&va, nil, corev1.EventTypeWarning, eventInvalidConfiguration, actionSelect, "%s", what)
	}
}

// due reports whether an ambiguity is to be reported now, and remembers it as reported.
func (a *Ambiguities) due(several external.Ambiguity) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.clock.Now()
	maps.DeleteFunc(a.told, func(_ string, at time.Time) bool { return now.Sub(at) >= reportAgainAfter })
	id := fmt.Sprintf("%s\x00%s\x00%s\x00%v", several.Namespace, several.Metric, several.Selector, several.Variants)
	if _, ok := a.told[id]; ok || len(a.told) >= rememberedAtMost {
		return false
	}
	a.told[id] = now
	return true
}

// describe says what the query was, how an autoscaler reads the answer, and what to do.
func describe(several external.Ambiguity) string {
	names := make([]string, 0, namedAtMost)
	for _, key := range several.Variants[:min(len(several.Variants), namedAtMost)] {
		names = append(names, key.Name)
	}
	list := clip(strings.Join(names, ", "), namesAtMost)
	if more := len(several.Variants) - len(names); more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	text := fmt.Sprintf("the selector %q on %s in namespace %s matches %d variants (%s), and an autoscaler adds them up to %s: select one by variant_name",
		clip(several.Selector, selectorAtMost), several.Metric, several.Namespace, len(several.Variants), list, several.Sum)
	if several.Cycle != "" {
		text += "; cycle " + string(several.Cycle)
	}
	return text
}

// clip returns s, or as much of it as fits into n bytes with a mark.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
