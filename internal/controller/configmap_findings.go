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

// longestAction is the most characters of an action that the event API takes.
const longestAction = 128

// tell tells and logs each finding when it comes up, by an event of its ConfigMap with
// the id of the last cycle. What the start has logged is told and not logged again.
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
		// The action is part of what the event API takes two events for the same by.
		c.Events.Eventf(referTo(seen.configMaps, f), nil, kind, eventInvalidConfiguration,
			firstOf(cmp.Or(f.Place(), "Read"), longestAction), "%s", explain.Noted(note, cycle))
	}
	c.told, c.logged = now, now
}

// referTo returns the ConfigMap that a finding is about.
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

// take puts settings into force if they are others than those that are, and
// returns what of them cannot be. What could not be is tried again at every look.
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

// settingsName returns the name of the ConfigMap of settings that is read.
func (c *Configuration) settingsName(configMaps []corev1.ConfigMap) string {
	names := c.Names[config.KindSettings]
	for _, name := range names {
		if slices.ContainsFunc(configMaps, func(m corev1.ConfigMap) bool { return m.Namespace == c.SystemNamespace && m.Name == name }) {
			return name
		}
	}
	return names[0]
}

// FindingsFor returns what of the configuration concerns the variants of a model
// on an accelerator, "" for any.
func (c *Configuration) FindingsFor(m scaling.ModelKey, accelerator string) []config.Finding {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Concat(c.Store.Snapshot().FindingsFor(m, accelerator), c.faults)
}

// Policy returns how decisions are made for a model; see config.Snapshot.
func (c *Configuration) Policy(m scaling.ModelKey, refs ...config.ClassRef) config.ModelSettings {
	return c.Store.Snapshot().Policy(m, refs...)
}

// Watch returns a channel that receives when a variant may be concerned by
// something else than before.
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
