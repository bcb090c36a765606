package store

import (
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// section is the part of a store for one kind.
type section interface {
	configMap() string
	// before returns the ConfigMap as it was last read or written, nil where it does not
	// exist, and false before the first read.
	before() (*corev1.ConfigMap, bool)
	// takeOver takes over the ConfigMap that was read, nil where it does not exist, and returns its
	// ignored entries.
	takeOver(m *corev1.ConfigMap) []ignored
	// dirty reports whether a write is needed.
	dirty() bool
	// next returns the new content of the ConfigMap.
	next(now time.Time) content
}

// content is the new content of a ConfigMap.
type content struct {
	data map[string]string
	// dropped says which entries had no space.
	dropped []string
	// written is called after the ConfigMap was written.
	written func(m *corev1.ConfigMap)
}

// ignored is an entry that does not apply.
type ignored struct{ key, why string }

// known is the knowledge of one kind, for every model. It is not safe for concurrent use.
type known[T Knowledge[T]] struct {
	kind   Kind[T]
	stored map[scaling.ModelKey]entry[T] // readable entries of the ConfigMap
	other  map[string]string             // the other entries, by key
	held   map[scaling.ModelKey]T        // present knowledge, of the served models
	// offered is the knowledge of a model when it was last read or written, or had no space.
	offered map[scaling.ModelKey]T
	object  *corev1.ConfigMap
	read    bool
}

func newKnown[T Knowledge[T]](kind Kind[T]) *known[T] {
	return &known[T]{kind: kind, offered: map[scaling.ModelKey]T{}}
}

func (k *known[T]) configMap() string { return k.kind.ConfigMap() }

func (k *known[T]) before() (*corev1.ConfigMap, bool) { return k.object, k.read }

func (k *known[T]) takeOver(m *corev1.ConfigMap) []ignored {
	k.object, k.read = m, true
	k.stored, k.other = map[scaling.ModelKey]entry[T]{}, map[string]string{}
	if m == nil {
		return nil
	}
	var out []ignored
	for _, key := range slices.Sorted(maps.Keys(m.Data)) {
		e, err := k.kind.parse(key, m.Data[key])
		if err != nil {
			out = append(out, ignored{key, err.Error()})
			k.other[key] = m.Data[key]
			continue
		}
		k.stored[e.model], k.offered[e.model] = e, e.value
	}
	return out
}

func (k *known[T]) dirty() bool {
	for model, value := range k.held {
		if value.Differs(k.offered[model]) {
			return true
		}
	}
	return false
}

func (k *known[T]) next(now time.Time) content {
	entries, offered := maps.Clone(k.stored), maps.Clone(k.offered)
	var p content
	for _, model := range slices.SortedFunc(maps.Keys(k.held), scaling.ModelKey.Compare) {
		value := k.held[model]
		if !value.Differs(k.offered[model]) {
			continue
		}
		value = value.Merge(k.stored[model].value)
		offered[model] = value
		e, err := k.kind.fit(model, now, value)
		if err != nil {
			p.dropped = append(p.dropped, err.Error())
			delete(entries, model)
			continue
		}
		entries[model] = e
	}
	kept, dropped := pack(k.items(entries), k.kind.AllBytes)
	if len(dropped) > 0 {
		p.dropped = append(p.dropped, fmt.Sprintf("%d entries, the first of them %s, have no room within %d bytes", len(dropped), dropped[0].key, k.kind.AllBytes))
	}
	p.data = make(map[string]string, len(kept))
	for _, i := range kept {
		p.data[i.key] = i.text
	}
	p.written = func(m *corev1.ConfigMap) {
		maps.DeleteFunc(entries, func(model scaling.ModelKey, _ entry[T]) bool { _, in := p.data[keyOf(model)]; return !in })
		maps.DeleteFunc(offered, func(model scaling.ModelKey, _ T) bool {
			_, stored := entries[model]
			_, served := k.held[model]
			return !stored && !served
		})
		k.object, k.stored, k.offered = m, entries, offered
		maps.DeleteFunc(k.other, func(key, text string) bool { return p.data[key] != text })
	}
	return p
}

// items returns the items to store: entries, and the other entries of the ConfigMap.
func (k *known[T]) items(entries map[scaling.ModelKey]entry[T]) []item {
	out, keys := make([]item, 0, len(entries)+len(k.other)), map[string]bool{}
	for model, e := range entries {
		_, served := k.held[model]
		one := item{key: keyOf(model), text: e.text, namespace: model.Namespace, at: e.at, served: served, read: true}
		out, keys[one.key] = append(out, one), true
	}
	for key, text := range k.other {
		if !keys[key] {
			out = append(out, item{key: key, text: text})
		}
	}
	return out
}

// values returns the stored value of each model.
func (k *known[T]) values() map[scaling.ModelKey]T {
	out := make(map[scaling.ModelKey]T, len(k.stored))
	for model, e := range k.stored {
		out[model] = e.value
	}
	return out
}
