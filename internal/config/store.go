package config

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// StoreOptions configure a Store.
type StoreOptions struct {
	// SystemNamespace is the namespace of the ConfigMaps for the whole cluster.
	SystemNamespace string
	// Names are the names of the ConfigMaps; nil for PublishedNames.
	Names Names
	// Explicit holds the settings that win over ConfigMaps; nil for none.
	Explicit Explicit
	// AllowInsecurePrometheus accepts a Prometheus URL without https.
	AllowInsecurePrometheus bool
}

// Store turns ConfigMaps into snapshots and remembers the last good values. It is safe for
// concurrent use.
type Store struct {
	options  StoreOptions
	reader   *settingsReader
	snapshot atomic.Pointer[Snapshot]
	mu       sync.Mutex // one Apply at a time
	known    map[string]reading
}

// reading is the accepted content of the ConfigMaps of a namespace, and the findings about them.
type reading struct {
	of       map[Kind][]Source
	layer    layer
	findings []Finding
}

// isOf reports whether r was read from these ConfigMaps.
func (r reading) isOf(now map[Kind][]Source) bool {
	return maps.EqualFunc(r.of, now, func(a, b []Source) bool {
		return slices.EqualFunc(a, b, func(a, b Source) bool { return a.Name == b.Name && maps.Equal(a.Data, b.Data) })
	})
}

// NewStore returns a store whose snapshot holds the defaults and the explicit settings. An explicit
// value that cannot be read is an error, a *FieldError. So is a URL of Prometheus without https, in
// the published words.
func NewStore(options StoreOptions) (*Store, error) {
	if options.Names == nil {
		options.Names = PublishedNames()
	}
	if options.Explicit == nil {
		options.Explicit = Places{}
	}
	reader, err := newSettingsReader(options)
	if err != nil {
		return nil, fmt.Errorf("reading explicit settings: %w", err)
	}
	s := &Store{options: options, reader: reader}
	s.snapshot.Store(&Snapshot{names: options.Names, reader: reader, policy: policyReader{policyFields(), defaultPolicy()}})
	return s, nil
}

// Snapshot returns the configuration in force.
func (s *Store) Snapshot() *Snapshot { return s.snapshot.Load() }

// Report says what Apply did.
type Report struct {
	// Changed is whether decisions could now differ.
	Changed bool
	// Findings are those of the snapshot. Fresh are those that the last snapshot did not have.
	Findings, Fresh []Finding
}

// Apply makes a snapshot of all ConfigMaps of all namespaces, and ignores unknown names. A refused
// value keeps its last good one as long as its ConfigMap exists; without the ConfigMap the defaults
// apply. Those of a namespace are read again only after one of them, or the content of the system
// namespace, has changed. Apply keeps the ConfigMaps; the caller must not modify them.
func (s *Store) Apply(all []Source) Report {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.snapshot.Load()
	next := &Snapshot{names: s.options.Names, reader: s.reader, policy: last.policy, layers: map[string]layer{}}
	groups := s.group(all)
	system := s.options.SystemNamespace
	next.system = next.read(groups[system], system, true, last.system)
	before := s.known
	if !reflect.DeepEqual(last.system, next.system) {
		before = nil
	}
	s.known = map[string]reading{}
	for _, namespace := range slices.Sorted(maps.Keys(groups)) {
		if namespace == system {
			continue
		}
		r := before[namespace]
		if !r.isOf(groups[namespace]) {
			from := len(next.findings)
			r = reading{of: groups[namespace], layer: next.read(groups[namespace], namespace, false, last.layers[namespace])}
			r.findings, next.findings = slices.Clone(next.findings[from:]), next.findings[:from]
		}
		s.known[namespace], next.layers[namespace] = r, r.layer
		next.findings = append(next.findings, r.findings...)
		next.findings = append(next.findings, next.notTrusted(groups[namespace], namespace)...)
	}
	slices.SortStableFunc(next.findings, func(a, b Finding) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.ConfigMap, b.ConfigMap))
	})
	s.snapshot.Store(next)
	return Report{
		Changed:  !reflect.DeepEqual(last.system, next.system) || !sameLayers(last.layers, next.layers),
		Findings: next.Findings(),
		Fresh:    without(next.findings, last.findings),
	}
}

// group groups ConfigMaps by namespace and kind.
func (s *Store) group(all []Source) map[string]map[Kind][]Source {
	out := map[string]map[Kind][]Source{}
	for _, m := range all {
		kind, ok := s.options.Names.KindOf(m.Name)
		if !ok {
			continue
		}
		if out[m.Namespace] == nil {
			out[m.Namespace] = map[Kind][]Source{}
		}
		out[m.Namespace][kind] = append(out[m.Namespace][kind], m)
	}
	return out
}

// read reads the ConfigMaps of one namespace and adds their findings.
func (s *Snapshot) read(of map[Kind][]Source, namespace string, system bool, last layer) layer {
	var out layer
	var base layer // the layer below
	room := math.MaxInt
	if !system {
		base, room = s.system, mostRead
	}
	for _, kind := range Kinds() {
		if len(of[kind]) == 0 {
			continue
		}
		m, others := s.names.choose(kind, of[kind])
		for _, other := range others {
			s.findings = append(s.findings, Finding{
				Severity: Doubtful, Namespace: namespace, ConfigMap: other.Name, InForce: m.Name,
				Problem: "is ignored: there is another ConfigMap for the same", Concerns: localScope(namespace, system),
			})
		}
		var findings []Finding
		if within, left := m.within(&room); left > 0 {
			m = within
			s.findings = append(s.findings, Finding{
				Severity: Refused, Namespace: namespace, ConfigMap: m.Name, InForce: "what holds without them", Concerns: localScope(namespace, system),
				Problem: fmt.Sprintf("%d keys are not read: of the ConfigMaps of a namespace %d KiB are, where each key counts for %d bytes and its text", left, mostRead>>10, keyBytes),
			})
		}
		switch kind {
		case KindSettings:
			out.settings, findings = s.reader.read(m, system, last.settings)
		case KindServiceClasses:
			out.classes, findings = readClasses(m, system, last.classes)
		case KindUnitCosts:
			out.costs, findings = readUnitCosts(m, system, base.costs, last.costs)
		case KindScaleToZero:
			out.zeros, findings = readZeros(m, system, last.zeros)
		case KindSaturation:
			out.policies, findings = s.policy.read(m, system, base.policies, last.policies)
		case KindQuota:
			if !system {
				findings = []Finding{{
					Severity: Refused, Namespace: namespace, ConfigMap: m.Name, InForce: "nothing of it", Concerns: localScope(namespace, system),
					Problem: "is read in the system namespace only: no namespace sets its own quota",
				}}
				break
			}
			out.quotas, findings = readQuotas(m, last.quotas)
		case KindSchedule:
			out.schedule, findings = readSchedule(m, system, last.schedule)
		}
		s.findings = append(s.findings, findings...)
	}
	return out.plain()
}

// localScope returns the scope of all models, or of those of a namespace other than the system's.
func localScope(namespace string, system bool) Scope {
	if system {
		return Scope{}
	}
	return Scope{Namespace: namespace}
}

// sameLayers reports whether namespaces have the same content. An empty layer equals a missing one.
func sameLayers(a, b map[string]layer) bool {
	for _, namespaces := range []map[string]layer{a, b} {
		for namespace := range namespaces {
			if !reflect.DeepEqual(a[namespace], b[namespace]) {
				return false
			}
		}
	}
	return true
}

// without returns the findings that are not among others.
func without(all, others []Finding) []Finding {
	known := map[Finding]bool{}
	for _, f := range others {
		known[f] = true
	}
	var out []Finding
	for _, f := range all {
		if !known[f] {
			out = append(out, f)
		}
	}
	return out
}
