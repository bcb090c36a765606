package externalscaler

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/utils/clock"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/actuator/external"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/actuator/externalscaler/wire"
)

// keptFor is how long the values of a namespace are kept while this process does not lead, so that
// KEDA's polls for many ScaledObjects cost one list of the namespace.
const keptFor = 250 * time.Millisecond

// The metadata that names the variant of a trigger.
const (
	keyVariant   = "variantName"
	keyNamespace = "namespace"
)

// lookup finds the decision that a trigger reads. It is safe for concurrent use.
type lookup struct {
	decisions external.Source
	targets   Targets
	clock     clock.PassiveClock

	mu   sync.Mutex
	kept map[string]listed // by namespace
}

// listed is the result of reading the decisions of a namespace.
type listed struct {
	at     time.Time
	values []external.Value
	err    error
}

func newLookup(opts Options) *lookup {
	return &lookup{decisions: opts.Decisions, targets: opts.Targets, clock: opts.Clock, kept: map[string]listed{}}
}

// check refuses a trigger without a ScaledObject or a namespace, and one that asks for another
// namespace.
func check(ref *wire.ScaledObjectRef) error {
	if ref.GetName() == "" || ref.GetNamespace() == "" {
		return status.Error(codes.InvalidArgument, "the call names no ScaledObject and namespace")
	}
	if other := ref.GetScalerMetadata()[keyNamespace]; other != "" && other != ref.GetNamespace() {
		return status.Errorf(codes.PermissionDenied, "the trigger of ScaledObject %.80s in namespace %.80s has %s %.80q: want its own namespace, or none",
			ref.GetName(), ref.GetNamespace(), keyNamespace, other)
	}
	return nil
}

// decision returns the decision that a trigger reads. Its error is a gRPC status: that of check,
// Unavailable while no decision is known, NotFound where the ScaledObject or its variant is unknown
// or has no decision.
func (l *lookup) decision(ctx context.Context, ref *wire.ScaledObjectRef) (external.Value, error) {
	if err := check(ref); err != nil {
		return external.Value{}, err
	}
	namespace := ref.GetNamespace()
	values, err := l.values(ctx, namespace)
	if err != nil {
		return external.Value{}, status.Errorf(codes.Unavailable, "no decision is known: %v", err)
	}
	if name := ref.GetScalerMetadata()[keyVariant]; name != "" {
		i, found := slices.BinarySearchFunc(values, name, func(v external.Value, name string) int { return strings.Compare(v.Variant.Name, name) })
		if !found {
			i = slices.IndexFunc(values, func(v external.Value) bool { return v.ReadAs == name })
		}
		if i < 0 {
			return external.Value{}, status.Errorf(codes.NotFound, "there is no decision on a variant %.80s in namespace %.80s: the trigger of ScaledObject %.80s names it by %s",
				name, namespace, ref.GetName(), keyVariant)
		}
		return values[i], nil
	}
	kind, name, ok := l.targets.ScaledObjectTarget(ctx, namespace, ref.GetName())
	if !ok {
		return external.Value{}, status.Errorf(codes.NotFound, "ScaledObject %.80s in namespace %.80s is not known to the manager: name the variant by %s in the metadata of its trigger",
			ref.GetName(), namespace, keyVariant)
	}
	i := slices.IndexFunc(values, func(v external.Value) bool { return v.Target.Kind == kind && v.Target.Name == name })
	if i < 0 {
		return external.Value{}, status.Errorf(codes.NotFound, "there is no decision on a variant with the target of ScaledObject %.80s in namespace %.80s, %.80s %.80s",
			ref.GetName(), namespace, kind, name)
	}
	return values[i], nil
}

// values returns the values of a namespace, sorted by variant: the present ones while this process
// leads, else those of the last keptFor.
func (l *lookup) values(ctx context.Context, namespace string) ([]external.Value, error) {
	if values, ok := l.decisions.Store.Values(namespace); ok {
		return values, nil
	}
	now := l.clock.Now()
	l.mu.Lock()
	kept, ok := l.kept[namespace]
	l.mu.Unlock()
	if ok && now.Sub(kept.at) < keptFor {
		return kept.values, kept.err
	}
	values, err := l.decisions.Values(ctx, namespace)
	if ctx.Err() != nil {
		return values, err // an error because the caller is gone must not reach other callers
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.kept, func(_ string, of listed) bool { return now.Sub(of.at) >= keptFor })
	l.kept[namespace] = listed{at: now, values: values, err: err}
	return values, err
}
