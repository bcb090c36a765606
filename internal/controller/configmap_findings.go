package controller

import (
	"cmp"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// longestAction is the largest number of characters that the event API takes for an action.
const longestAction = 128

// tell logs each new finding and reports it by an event of its ConfigMap with the id of the last
// cycle. Findings that the start has logged are not logged again.
func (c *Configuration) tell(seen sight) {
	now, cycle := map[config.Finding]bool{}, c.Cycle()
	for _, f := range seen.findings {
		if now[f] = true; c.told[f] {
			continue
		}
		kind := corev1.EventTypeNormal
		if f.Severity == config.Refused {
			kind = corev1.EventTypeWarning
		}
		if !c.logged[f] {
			c.Log.Info("configuration is not what was written", "namespace", f.Namespace, "configMap", f.ConfigMap, "reason", f.String())
		}
		note := f.Message()
		if place := f.Place(); place != "" {
			note = place + ": " + note
		}
		// The event API counts events with the same action as one.
		c.Events.Eventf(referTo(seen.configMaps, f), nil, kind, eventInvalidConfiguration,
			firstOf(cmp.Or(f.Place(), "Read"), longestAction), "%s", explain.Noted(note, cycle))
	}
	c.told, c.logged = now, now
}

// referTo returns a reference to the ConfigMap of a finding.
func referTo(configMaps []corev1.ConfigMap, f config.Finding) *corev1.ConfigMap {
	of := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: f.Namespace, Name: f.ConfigMap}}
	for _, m := range configMaps {
		if m.Namespace == f.Namespace && m.Name == f.ConfigMap {
			of.UID, of.ResourceVersion = m.UID, m.ResourceVersion
		}
	}
	return of
}

// firstOf returns the first n characters of text.
func firstOf(text string, n int) string {
	if runes := []rune(text); len(runes) > n {
		return string(runes[:n])
	}
	return text
}

// take puts changed settings into force, and returns findings for those that it cannot. It tries
// these again at every look.
func (c *Configuration) take(configMaps []corev1.ConfigMap) []config.Finding {
	settings := c.Store.Snapshot().Settings()
	if c.settings != nil && reflect.DeepEqual(*c.settings, settings) {
		return nil
	}
	faults := c.Take(settings)
	if c.settings = &settings; len(faults) > 0 {
		c.settings = nil
	}
	name := c.settingsName(configMaps)
	for i := range faults {
		faults[i].Namespace, faults[i].ConfigMap = c.SystemNamespace, name
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = faults
	return faults
}

// settingsName returns the name of the ConfigMap that holds the settings; of none, the first
// possible name.
func (c *Configuration) settingsName(configMaps []corev1.ConfigMap) string {
	names := c.Names[config.KindSettings]
	for _, name := range names {
		if slices.ContainsFunc(configMaps, func(m corev1.ConfigMap) bool { return m.Namespace == c.SystemNamespace && m.Name == name }) {
			return name
		}
	}
	return names[0]
}

// FindingsFor returns the findings that concern the variants of a model on an accelerator, "" for
// any.
func (c *Configuration) FindingsFor(m scaling.ModelKey, accelerator string) []config.Finding {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Concat(c.Store.Snapshot().FindingsFor(m, accelerator), c.faults)
}

// Policy returns the settings by which a model is decided on; see config.Snapshot.
func (c *Configuration) Policy(m scaling.ModelKey, refs ...config.ClassRef) config.ModelSettings {
	return c.Store.Snapshot().Policy(m, refs...)
}

// Watch returns a channel that receives when the findings or the settings of a variant may have
// changed.
func (c *Configuration) Watch() <-chan struct{} {
	w := make(chan struct{}, 1)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watchers = append(c.watchers, w)
	return w
}

func (c *Configuration) notifyWatchers() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range c.watchers {
		select {
		case w <- struct{}{}:
		default: // the watcher has not yet read the last notice, which says the same
		}
	}
}
