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
	// served are the models of all that is served, of which the fleet is a part where
	// part is true: whole namespaces.
	served []scaling.ModelVariants
	part   bool
}

// everything is the plan to ask about a whole fleet.
func everything(fleet scaling.Fleet) fetchPlan {
	return fetchPlan{fleet: fleet, served: fleet.Models()}
}

// namespaces returns those to ask about, sorted; none for all, and where they are too many
// to be named.
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

// early bounds how often a namespace is asked about before its measurements are due,
// because one of them was dropped or a model is new: any user who may edit its
// objects can cause both. Until it is asked again, the last measurement stands for one that was
// dropped.
const (
	early       = 4
	earlyWithin = time.Minute
)

// last is the latest complete measurement of a model, and until when that is kept.
type last struct {
	measurement *modelAnswer
	until       time.Time
}

// planFetch returns what to ask because models are missing from the cache, and the missing
// models of the namespaces that were asked about too often to be asked about now. Where
// a measurement has come to its end, all are due.
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

// mayAskEarly reports whether a namespace may be asked about early once more, and
// counts that it is. The lock is held by the caller.
func (c *Collector) mayAskEarly(namespace string, now time.Time) bool {
	lately := slices.DeleteFunc(c.early[namespace], func(at time.Time) bool { return now.Sub(at) >= earlyWithin })
	may := len(lately) < early
	if may {
		lately = append(lately, now)
	}
	c.early[namespace] = lately
	return may
}

// standIn puts the last measurements in the place of those of models that wait, and says
// in the measurement why there is none of a new one.
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

// remember takes over the last measurement of a model, if any are kept.
func (c *Collector) remember(model scaling.ModelKey, s *modelAnswer, until time.Time) {
	if c.opts.Cache.Capacity() == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last[model] = last{s, until}
}

// forgetOthers forgets the models and namespaces that are not served any more.
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
