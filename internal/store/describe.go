package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Description describes an entry for users.
type Description struct {
	ConfigMap string            `json:"configMap"`
	Key       string            `json:"key"`
	Bytes     int               `json:"bytes"`
	Model     *scaling.ModelKey `json:"model,omitempty"` // nil for an ignored entry
	At        time.Time         `json:"at,omitzero"`     // when it last changed
	Says      string            `json:"says,omitempty"`
	// Ignored says why the entry does not apply, "" where it does.
	Ignored string `json:"ignored,omitempty"`
}

func (k Kind[T]) describe(data map[string]string) []Description {
	var out []Description
	for _, key := range slices.Sorted(maps.Keys(data)) {
		d := Description{ConfigMap: k.ConfigMap(), Key: key, Bytes: len(key) + len(data[key])}
		if e, err := k.parse(key, data[key]); err != nil {
			d.Ignored = err.Error()
		} else {
			d.Model, d.At, d.Says = &e.model, e.at, e.value.String()
		}
		out = append(out, d)
	}
	return out
}

// Describe describes every entry stored in a namespace, sorted by ConfigMap and key. The error
// names the ConfigMaps that could not be read; a ConfigMap that does not exist has no entries.
func Describe(ctx context.Context, reader client.Reader, namespace string) ([]Description, error) {
	var out []Description
	var failed []error
	for _, k := range kinds() {
		var m corev1.ConfigMap
		err := reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: k.ConfigMap()}, &m)
		if client.IgnoreNotFound(err) != nil {
			failed = append(failed, fmt.Errorf("reading ConfigMap %s/%s: %w", namespace, k.ConfigMap(), err))
		}
		if err == nil {
			out = append(out, k.describe(m.Data)...)
		}
	}
	return out, errors.Join(failed...)
}
