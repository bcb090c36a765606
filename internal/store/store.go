package store

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

const (
	// every is the least time between two writes.
	every = time.Minute
	// refusedEvery bounds the time between two attempts while the right to write is missing. That
	// time starts at the usual one and doubles: a Role may be created just after the manager.
	refusedEvery = 10 * time.Minute
	// patience bounds one request: a start does not wait longer for values that the manager can
	// learn again.
	patience = 10 * time.Second
)

// Objects reads and writes ConfigMaps, without a cache.
type Objects interface {
	Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error
	Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error
	Update(ctx context.Context, o client.Object, opts ...client.UpdateOption) error
}

// Options are the parts of a Store. All but Lost and Every are required.
type Options struct {
	Namespace string // of the manager
	Objects   Objects
	Events    events.EventRecorder
	Log       logr.Logger
	Clock     clock.Clock
	// Lost is called for each attempt to read or write that fails.
	Lost func()
	// Every is the least time between two writes, 0 for a minute.
	Every time.Duration
}

// Store keeps knowledge in ConfigMaps. It is safe for concurrent use.
type Store struct {
	Options
	changed chan struct{}

	mu       sync.Mutex // never held across a request
	sections []section
	room     int             // bytes of mostBytes that no section has
	told     map[string]bool // notices that were reported and still hold
}

// New returns a Store without kinds.
func New(o Options) *Store {
	return &Store{Options: o, changed: make(chan struct{}, 1), room: mostBytes, told: map[string]bool{}}
}

// Entries are the entries of one kind in a Store.
type Entries[T Knowledge[T]] struct {
	store *Store
	known *known[T]
}

// Add makes a store keep a kind. Call it before Run. It panics where the bounds of all its kinds
// together exceed mostBytes.
func Add[T Knowledge[T]](s *Store, kind Kind[T]) *Entries[T] {
	e := &Entries[T]{s, newKnown(kind)}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sections = append(s.sections, e.known)
	if s.room -= kind.AllBytes; s.room < 0 {
		panic(fmt.Sprintf("store: all kinds together have more than %d bytes", mostBytes))
	}
	return e
}

// Load returns the stored value of each model. A process that leads calls it before the
// first cycle. It reports entries that cannot be read, and leaves them out.
func (e *Entries[T]) Load(ctx context.Context) map[scaling.ModelKey]T {
	if err := e.store.read(ctx, e.known); err != nil {
		e.store.failed(e.known.configMap(), "read", err)
		return nil
	}
	e.store.mu.Lock()
	defer e.store.mu.Unlock()
	return e.known.values()
}

// Keep stores the present knowledge of every served model. It does not wait for the write.
func (e *Entries[T]) Keep(of map[scaling.ModelKey]T) {
	e.store.mu.Lock()
	e.known.held = maps.Clone(of)
	dirty := e.known.dirty()
	e.store.mu.Unlock()
	if dirty {
		e.store.lookAgain()
	}
}

func (s *Store) lookAgain() {
	select {
	case s.changed <- struct{}{}:
	default: // Run has not handled the last notice and will see this too
	}
}

// Run writes what changed until ctx ends, at most once in Every. Changes not written by
// then are lost.
func (s *Store) Run(ctx context.Context) error {
	usual := cmp.Or(s.Every, every)
	refused := usual
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.changed:
		}
		next := s.dirty()
		if next == nil {
			continue
		}
		pause := usual
		err := s.write(ctx, next)
		if err != nil && ctx.Err() == nil {
			s.failed(next.configMap(), "write", err)
		}
		if apierrors.IsForbidden(err) {
			pause = refused
			refused = min(2*refused, max(usual, refusedEvery))
		} else {
			refused = usual
		}
		select {
		case <-ctx.Done():
			return nil
		case <-s.Clock.After(pause):
		}
		if s.dirty() != nil {
			s.lookAgain()
		}
	}
}

// dirty returns the first section that needs a write and moves it to the end, nil where
// none does.
func (s *Store) dirty() section {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, one := range s.sections {
		if one.dirty() {
			s.sections = append(append(s.sections[:i:i], s.sections[i+1:]...), one)
			return one
		}
	}
	return nil
}

// read reads a ConfigMap into its section.
func (s *Store) read(ctx context.Context, of section) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	m := &corev1.ConfigMap{}
	err := s.Objects.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: of.configMap()}, m)
	if apierrors.IsNotFound(err) {
		m, err = nil, nil
	}
	if err != nil {
		return err
	}
	s.mu.Lock()
	ignored := of.takeOver(m)
	s.mu.Unlock()
	for _, i := range ignored {
		s.tell(m, notice{eventIgnored, i.key, i.why, fmt.Sprintf(
			"entry %s is ignored: %s; the others apply. Delete the key: the manager learns it again", i.key, i.why)})
	}
	return nil
}

// write writes the content of a section. Where another client wrote since the last read, it
// reads, merges and tries once more.
func (s *Store) write(ctx context.Context, of section) error {
	err := s.attempt(ctx, of)
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) {
		if err = s.read(ctx, of); err == nil {
			err = s.attempt(ctx, of)
		}
	}
	return err
}

func (s *Store) attempt(ctx context.Context, of section) error {
	s.mu.Lock()
	_, read := of.before()
	s.mu.Unlock()
	if !read {
		if err := s.read(ctx, of); err != nil {
			return err
		}
	}
	s.mu.Lock()
	before, _ := of.before()
	page := of.next(s.Clock.Now())
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	m, err := s.put(ctx, of.configMap(), before, page.data)
	if err != nil {
		return err
	}
	s.mu.Lock()
	page.written(m)
	maps.DeleteFunc(s.told, func(what string, _ bool) bool {
		return strings.HasPrefix(what, eventUnavailable+"/"+m.Name+"/") || strings.HasPrefix(what, eventNoRoom+"/"+m.Name+"/") && len(page.dropped) == 0
	})
	s.mu.Unlock()
	for _, lost := range page.dropped {
		s.tell(m, notice{eventNoRoom, "Write", "", lost})
	}
	return nil
}

// put stores data in the ConfigMap before, nil where none exists.
func (s *Store) put(ctx context.Context, name string, before *corev1.ConfigMap, data map[string]string) (*corev1.ConfigMap, error) {
	if before == nil {
		m := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: s.Namespace, Name: name,
				Labels:      map[string]string{"app.kubernetes.io/part-of": "workload-variant-autoscaler"},
				Annotations: map[string]string{annotationDescription: description},
			},
			Data: data,
		}
		return m, s.Objects.Create(ctx, m)
	}
	m := before.DeepCopy()
	m.Data = data
	return m, s.Objects.Update(ctx, m)
}

// Explanations for users who find the ConfigMap.
const (
	annotationDescription = "kubernetes.io/description"
	description           = "What the Workload Variant Autoscaler has learned. It writes this itself: an entry that is edited is ignored. Delete it to forget; wva store lists it."
)
