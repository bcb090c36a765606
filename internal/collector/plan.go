package collector

import (
	"fmt"
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// fetchPlan says which namespaces and questions a fetch asks about.
type fetchPlan struct {
	fleet scaling.Fleet
	// served are all models. The fleet has them all, or some whole namespaces where part is true.
	served []scaling.ModelVariants
	part   bool
}

// everything returns the plan to ask about a whole fleet.
func everything(fleet scaling.Fleet) fetchPlan {
	return fetchPlan{fleet: fleet, served: fleet.Models()}
}

// namespaces returns the namespaces to ask about, sorted; none, which means all, for a whole fleet
// and where they are too many to name.
func (e fetchPlan) namespaces() []string {
	if !e.part {
		return nil
	}
	var all []string
	for _, v := range e.fleet.Variants {
		all = append(all, v.Model.Namespace)
	}
	if all = sorted(all); len(all) > mostNamed {
		return nil
	}
	return all
}

// early limits how often within earlyWithin a namespace is fetched before its measurements are due,
// because one of them was dropped or a model is new: any user who may edit its objects can cause
// both. Beyond that, the last measurement replaces one that was dropped.
const (
	early       = 4
	earlyWithin = time.Minute
)

// last is the latest complete measurement of a model, and until when it is kept.
type last struct {
	measurement *modelAnswer
	until       time.Time
}

// planFetch returns the plan of a fetch for models that the cache lacks, and those of the missing
// models whose namespaces were fetched early too often. Where the measurement of one expired, the
// plan is the whole fleet.
func (c *Collector) planFetch(fleet scaling.Fleet, models []scaling.ModelVariants, missing []scaling.ModelKey) (fetchPlan, []scaling.ModelKey) {
	now := c.clock.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	due := func(m scaling.ModelKey) bool { l, ok := c.last[m]; return ok && !l.until.After(now) }
	if c.opts.Cache.Capacity() < len(models) || len(c.last) == 0 || slices.ContainsFunc(missing, due) {
		return everything(fleet), nil
	}
	allowed := map[string]bool{}
	var waiting []scaling.ModelKey
	for _, m := range missing {
		if _, known := allowed[m.Namespace]; !known {
			allowed[m.Namespace] = c.mayAskEarly(m.Namespace, now)
		}
		if !allowed[m.Namespace] {
			waiting = append(waiting, m)
		}
	}
	e := fetchPlan{served: models, fleet: fleet.In(func(namespace string) bool { return allowed[namespace] })}
	e.part = len(e.fleet.Variants) < len(fleet.Variants)
	return e, waiting
}

// mayAskEarly reports whether a namespace may be fetched early once more, and counts it. The caller
// holds the lock.
func (c *Collector) mayAskEarly(namespace string, now time.Time) bool {
	lately := slices.DeleteFunc(c.early[namespace], func(at time.Time) bool { return now.Sub(at) >= earlyWithin })
	may := len(lately) < early
	if may {
		lately = append(lately, now)
	}
	c.early[namespace] = lately
	return may
}

// standIn puts the last measurements of the waiting models into sheets, and returns m with the
// reason why a new model among them has none.
func (c *Collector) standIn(waiting []scaling.ModelKey, sheets map[scaling.ModelKey]*modelAnswer, m *measurement) *measurement {
	if len(waiting) == 0 {
		return m
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	out := *m
	for _, model := range waiting {
		if l, ok := c.last[model]; ok {
			sheets[model] = l.measurement
		} else if out.fault == "" {
			out.fault = fmt.Sprintf("namespace %s was asked about %d times within %s because its objects changed; it is asked about again within that time",
				model.Namespace, early, earlyWithin)
		}
	}
	return &out
}

// remember keeps the last measurement of a model, if the cache keeps any.
func (c *Collector) remember(model scaling.ModelKey, s *modelAnswer, until time.Time) {
	if c.opts.Cache.Capacity() == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last[model] = last{s, until}
}

// forgetOthers forgets the models and namespaces that are no longer served.
func (c *Collector) forgetOthers(served []scaling.ModelVariants) {
	models, namespaces := map[scaling.ModelKey]bool{}, map[string]bool{}
	for _, m := range served {
		models[m.Model], namespaces[m.Model.Namespace] = true, true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for m := range c.last {
		if !models[m] {
			delete(c.last, m)
		}
	}
	for m := range c.layouts {
		if !models[m] {
			delete(c.layouts, m)
		}
	}
	for namespace := range c.early {
		if !namespaces[namespace] {
			delete(c.early, namespace)
		}
	}
	for namespace := range c.windows {
		if !namespaces[namespace] {
			delete(c.windows, namespace)
		}
	}
}
