package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

const system = "wva-system"

// fakeObjects holds one ConfigMap as an API server does, and counts what is asked of it.
// TestOnAPIServer asks the same of a real one.
type fakeObjects struct {
	mu      sync.Mutex
	held    *corev1.ConfigMap
	version int
	writes  []time.Time
	fail    map[string]error // by verb
}

var configMaps = schema.GroupResource{Resource: "configmaps"}

func (f *fakeObjects) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.fail["get"]; err != nil {
		return err
	}
	if f.held == nil || key != client.ObjectKeyFromObject(f.held) {
		return apierrors.NewNotFound(configMaps, key.Name)
	}
	f.held.DeepCopyInto(o.(*corev1.ConfigMap))
	return nil
}

func (f *fakeObjects) Create(_ context.Context, o client.Object, _ ...client.CreateOption) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch err := f.fail["create"]; {
	case err != nil:
		return err
	case f.held != nil:
		return apierrors.NewAlreadyExists(configMaps, o.GetName())
	}
	f.put(o.(*corev1.ConfigMap))
	return nil
}

func (f *fakeObjects) Update(_ context.Context, o client.Object, _ ...client.UpdateOption) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch err := f.fail["update"]; {
	case err != nil:
		return err
	case f.held == nil:
		return apierrors.NewNotFound(configMaps, o.GetName())
	case f.held.ResourceVersion != o.GetResourceVersion():
		return apierrors.NewConflict(configMaps, o.GetName(), errors.New("written meanwhile"))
	}
	f.put(o.(*corev1.ConfigMap))
	return nil
}

func (f *fakeObjects) put(m *corev1.ConfigMap) {
	f.version++
	m.ResourceVersion = strconv.Itoa(f.version)
	f.held, f.writes = m.DeepCopy(), append(f.writes, time.Now())
}

// edit changes the ConfigMap, as a user does.
func (f *fakeObjects) edit(by func(data map[string]string)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	by(f.held.Data)
	f.version++
	f.held.ResourceVersion = strconv.Itoa(f.version)
}

// stored returns what start-ups are held, by model.
func (f *fakeObjects) stored(t *testing.T) map[string]string {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	out := map[string]string{}
	if f.held == nil {
		return nil
	}
	for key, text := range f.held.Data {
		e, err := StartUps().parse(key, text)
		if err != nil {
			out[key] = "ignored"
			continue
		}
		out[e.model.String()] = e.value.String()
	}
	return out
}

// fakeEvents stores events.
type fakeEvents struct {
	mu   sync.Mutex
	told []string
}

func (f *fakeEvents) Eventf(regarding, _ runtime.Object, kind, reason, _, note string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.told = append(f.told, fmt.Sprintf("%s %s of %s: %s", kind, reason, regarding.(*corev1.ConfigMap).Name, fmt.Sprintf(note, args...)))
}

// process is a manager with a store, from its start until stop.
type process struct {
	entries *Entries[memory.VariantStartUps]
	events  *fakeEvents
	loaded  map[scaling.ModelKey]memory.VariantStartUps
	lost    int
	stop    func()
}

// begin starts a process. It is called in a bubble of synctest.
func begin(t *testing.T, objects Objects, change ...func(*Kind[memory.VariantStartUps])) *process {
	t.Helper()
	p := &process{events: &fakeEvents{}}
	s := New(Options{Namespace: system, Objects: objects, Events: p.events, Log: logr.Discard(), Clock: clock.RealClock{}, Lost: func() { p.lost++ }})
	kind := StartUps()
	for _, f := range change {
		f(&kind)
	}
	p.entries = Add(s, kind)
	p.loaded = p.entries.Load(t.Context())
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := s.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	p.stop = func() { cancel(); running.Wait() }
	return p
}

func modelNamed(id string) scaling.ModelKey { return scaling.ModelKey{Namespace: "ns", ID: id} }

func of(pairs ...any) map[scaling.ModelKey]memory.VariantStartUps {
	out := map[scaling.ModelKey]memory.VariantStartUps{}
	for i := 0; i < len(pairs); i += 2 {
		out[modelNamed(pairs[i].(string))] = pairs[i+1].(memory.VariantStartUps)
	}
	return out
}

func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestWhatWasLearnedOutlivesTheProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &fakeObjects{}
		first := begin(t, api)
		if len(first.loaded) != 0 {
			t.Errorf("loaded %v from nothing", first.loaded)
		}
		first.entries.Keep(of("a", startUps(time.Minute, 2*time.Minute), "b", startUps(3*time.Minute)))
		pass(time.Second)
		first.stop()
		second := begin(t, api)
		second.stop()
		if diff := cmp.Diff(second.loaded, of("a", startUps(time.Minute, 2*time.Minute), "b", startUps(3*time.Minute))); diff != "" {
			t.Errorf("-got +want:\n%s", diff)
		}
		if got := api.held.Annotations[annotationDescription]; !strings.Contains(got, "Delete it to forget") {
			t.Errorf("the ConfigMap says of itself %q", got)
		}
		if told := slices.Concat(first.events.told, second.events.told); len(told) > 0 {
			t.Errorf("told %q", told)
		}
	})
}

func TestWritesAreAtMostOneAMinuteAndNoneInASteadyState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &fakeObjects{}
		p := begin(t, api)
		defer p.stop()
		known := map[scaling.ModelKey]memory.VariantStartUps{}
		for i := range 120 { // a model more every five seconds, for ten minutes
			known[modelNamed(fmt.Sprint(i))] = startUps(time.Minute)
			p.entries.Keep(known)
			pass(5 * time.Second)
		}
		if n := len(api.writes); n < 9 || n > 11 {
			t.Errorf("%d writes in ten minutes of changes, want ten", n)
		}
		for i := range len(api.writes) - 1 {
			if gap := api.writes[i+1].Sub(api.writes[i]); gap < time.Minute {
				t.Errorf("%s between two writes, want at least a minute", gap)
			}
		}
		pass(time.Minute)
		if got := len(api.stored(t)); got != 120 {
			t.Errorf("a minute later %d models are stored, want all 120", got)
		}
		before := len(api.writes)
		for i := range 600 { // start-ups go on varying by a little
			for model := range known {
				known[model] = startUps(time.Minute + time.Duration(i%5)*time.Second)
			}
			p.entries.Keep(known)
			pass(5 * time.Second)
		}
		if n := len(api.writes) - before; n != 0 {
			t.Errorf("%d writes in a steady state, want none", n)
		}
	})
}

func TestAnEntryThatDoesNotApplyIsNamedAndTheOthersApply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &fakeObjects{}
		p := begin(t, api)
		p.entries.Keep(of("a", startUps(time.Minute), "b", startUps(2*time.Minute)))
		pass(time.Second)
		p.stop()
		key := keyOf(modelNamed("a"))
		api.edit(func(data map[string]string) { data[key] = strings.Replace(data[key], "1m0s", "9m0s", 1) })

		p = begin(t, api)
		defer p.stop()
		if diff := cmp.Diff(p.loaded, of("b", startUps(2*time.Minute))); diff != "" {
			t.Errorf("loaded, -got +want:\n%s", diff)
		}
		want := []string{"Warning StoredEntryIgnored of wva-store-start-ups: entry " + key +
			" is ignored: its checksum is not that of its text, which was changed by hand or cut off; the others apply. Delete the key: the manager learns it again"}
		if diff := cmp.Diff(p.events.told, want); diff != "" {
			t.Errorf("told, -got +want:\n%s", diff)
		}
		p.entries.Keep(of("c", startUps(time.Minute)))
		pass(time.Second)
		if got := api.stored(t); got[key] != "ignored" || len(got) != 3 {
			t.Errorf("another model is written: got %v, want the edited entry left alone", got)
		}
		p.entries.Keep(of("a", startUps(time.Minute), "c", startUps(time.Minute)))
		pass(2 * time.Minute)
		if got := api.stored(t); got["ns/a"] == "" || got[key] != "" {
			t.Errorf("the model is learned again: got %v, want its entry replaced", got)
		}
	})
}

func TestWithoutTheRightsTheManagerGoesOnAndSaysSoOnce(t *testing.T) {
	forbidden := apierrors.NewForbidden(configMaps, "wva-store-start-ups", errors.New(`User "m" cannot`))
	for _, verb := range []string{"get", "create"} {
		t.Run(verb, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api := &fakeObjects{fail: map[string]error{verb: forbidden}}
				p := begin(t, api)
				defer p.stop()
				for range 240 { // for an hour
					p.entries.Keep(of("a", startUps(time.Minute)))
					pass(15 * time.Second)
				}
				told := map[string]int{}
				for _, line := range p.events.told {
					told[line]++
				}
				for line, n := range told {
					if n > 1 || !strings.Contains(line, "set WVA_STORE=false") {
						t.Errorf("told %d times: %s", n, line)
					}
				}
				if len(told) == 0 || len(told) > 2 || p.lost > 10 {
					t.Errorf("told %d things, %d attempts; want one of each verb, and attempts that end ten minutes apart", len(told), p.lost)
				}
				api.mu.Lock()
				api.fail = nil
				api.mu.Unlock()
				pass(11 * time.Minute)
				if got := api.stored(t); got["ns/a"] == "" {
					t.Errorf("with the rights: got %v, want model a stored", got)
				}
			})
		})
	}
}

func TestRightsThatComeAMinuteLateAreFoundInTwo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &fakeObjects{fail: map[string]error{"create": apierrors.NewForbidden(configMaps, "wva-store-start-ups", errors.New(`User "m" cannot`))}}
		p := begin(t, api)
		defer p.stop()
		p.entries.Keep(of("a", startUps(time.Minute)))
		pass(90 * time.Second)
		api.mu.Lock()
		api.fail = nil
		api.mu.Unlock()
		pass(2 * time.Minute)
		if got := api.stored(t); got["ns/a"] == "" {
			t.Errorf("got %v, want model a stored", got)
		}
	})
}

func TestWhatOthersWroteMeanwhileIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &fakeObjects{}
		one, two := begin(t, api), begin(t, api) // both believe to lead, or share a namespace
		defer one.stop()
		defer two.stop()
		one.entries.Keep(of("a", startUps(time.Minute)))
		pass(time.Second)
		two.entries.Keep(of("b", startUps(2*time.Minute)))
		pass(2 * time.Minute)
		one.entries.Keep(of("a", memory.VariantStartUps{"w": startUps(5 * time.Minute)["v"]}))
		pass(2 * time.Minute)
		want := map[string]string{
			"ns/a": "v 1m0s (9 of 10 within 1m0s, 1 pod), w 5m0s (9 of 10 within 5m0s, 1 pod)",
			"ns/b": "v 2m0s (9 of 10 within 2m0s, 1 pod)",
		}
		if diff := cmp.Diff(api.stored(t), want); diff != "" {
			t.Errorf("-got +want:\n%s", diff)
		}
		if n := len(api.writes); n != 3 {
			t.Errorf("%d writes, want three", n)
		}
	})
}

func TestADeletedConfigMapStaysForgottenUntilSomethingChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &fakeObjects{}
		p := begin(t, api)
		defer p.stop()
		p.entries.Keep(of("a", startUps(time.Minute), "b", startUps(time.Minute)))
		pass(2 * time.Minute)
		api.mu.Lock()
		api.held = nil
		api.mu.Unlock()
		p.entries.Keep(of("a", startUps(time.Minute), "b", startUps(time.Minute)))
		pass(time.Hour)
		if got := api.stored(t); got != nil {
			t.Errorf("nothing changed: got %v, want it deleted", got)
		}
		p.entries.Keep(of("a", startUps(time.Minute), "b", startUps(9*time.Minute)))
		pass(2 * time.Minute)
		if got := slices.Sorted(maps.Keys(api.stored(t))); !slices.Equal(got, []string{"ns/b"}) {
			t.Errorf("model b changed: got %v, want it alone", got)
		}
	})
}

func TestWithoutRoomTheRestIsStoredAndSaidAndNothingIsWrittenAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &fakeObjects{}
		p := begin(t, api, func(k *Kind[memory.VariantStartUps]) { k.AllBytes = 1000 })
		defer p.stop()
		all := map[scaling.ModelKey]memory.VariantStartUps{}
		for i := range 10 {
			all[modelNamed(fmt.Sprint(i))] = startUps(time.Minute)
		}
		for range 40 {
			p.entries.Keep(all)
			pass(15 * time.Second)
		}
		size := 0
		for key, text := range api.held.Data {
			size += len(key) + len(text)
		}
		if size > 1000 || size < 700 || len(api.writes) != 1 {
			t.Errorf("got %d bytes by %d writes, want at most 1000 by one", size, len(api.writes))
		}
		if len(p.events.told) != 1 || !strings.Contains(p.events.told[0], "have no room within 1000 bytes") {
			t.Errorf("told %q, want that entries have no room", p.events.told)
		}
	})
}

func TestAStoreThatFailsIsTriedAgainAMinuteLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &fakeObjects{fail: map[string]error{"create": errors.New("connection refused")}}
		p := begin(t, api)
		defer p.stop()
		p.entries.Keep(of("a", startUps(time.Minute)))
		pass(30 * time.Second)
		api.mu.Lock()
		api.fail = nil
		api.mu.Unlock()
		pass(31 * time.Second)
		if got := api.stored(t); got["ns/a"] == "" || p.lost != 1 || len(p.events.told) != 1 {
			t.Errorf("got %v after %d failures, told %q; want model a stored after one", got, p.lost, p.events.told)
		}
	})
}

func TestAllKindsHaveNamesOfTheirOwnAndRoom(t *testing.T) {
	s, names := New(Options{}), map[string]bool{}
	Add(s, StartUps()) // panics where there is no room
	Add(s, Fits())
	Add(s, DecidedKind())
	for _, k := range kinds() {
		if names[k.ConfigMap()] {
			t.Errorf("two kinds are kept in %s", k.ConfigMap())
		}
		names[k.ConfigMap()] = true
	}
	if len(names) != 3 || !names["wva-store-decisions"] || !names["wva-store-start-ups"] || !names["wva-store-fits"] {
		t.Errorf("got %v, want the ConfigMaps that the manager's Role names", names)
	}
	defer func() {
		if recover() == nil {
			t.Error("a kind without room is accepted")
		}
	}()
	Add(s, Kind[memory.VariantStartUps]{Name: "large", AllBytes: mostBytes})
}
