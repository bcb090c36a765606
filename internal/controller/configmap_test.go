package controller

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

const (
	systemNamespace = "wva-system"
	thresholdsMap   = "saturation-scaling-config"
	settingsMap     = "workload-variant-autoscaler-variantautoscaling-config"
)

// bench is a Configuration with ConfigMaps and VariantAutoscalings in memory.
type bench struct {
	*Configuration
	store *config.Store

	mu       sync.Mutex
	maps     map[client.ObjectKey]map[string]string
	variants []v1alpha1.VariantAutoscaling
	changed  func(ConfigMapChange)
	handlers []toolscache.ResourceEventHandler
	woken    []string
	taken    []config.Settings
	refuse   []config.Finding // findings that Take returns
	logged   []string
	told     []string
	cycle    scaling.CycleID
	takes    time.Duration // duration of listing ConfigMaps
	looks    int
}

// onBench runs a Configuration and then act in virtual time, with two variants in namespace n and
// one in other. before prepares the bench.
func onBench(t *testing.T, before func(b *bench), act func(t *testing.T, b *bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		if before != nil {
			before(b)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- b.Configuration.Start(ctx) }()
		synctest.Wait()
		act(t, b)
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Start: %v", err)
		}
	})
}

// newBench returns a bench whose process leads.
func newBench(t *testing.T) *bench {
	t.Helper()
	store, err := config.NewStore(config.StoreOptions{SystemNamespace: systemNamespace})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{store: store, maps: map[client.ObjectKey]map[string]string{}}
	for _, key := range []string{"n/v", "n/w", "other/v"} {
		namespace, name, _ := strings.Cut(key, "/")
		b.variants = append(b.variants, *object(func(va *v1alpha1.VariantAutoscaling) { va.Namespace, va.Name = namespace, name }))
	}
	leads := make(chan struct{})
	close(leads)
	b.Configuration = NewConfiguration(ConfigurationOptions{
		Log: funcr.New(func(_, args string) { b.note(&b.logged, args) }, funcr.Options{}), SystemNamespace: systemNamespace,
		Names: config.PublishedNames(), Store: store,
		ConfigMaps: b, Variants: b, Informers: b, Take: b.take, Wake: func(reason string) { b.note(&b.woken, reason) }, Events: b, Leads: leads,
		Cycle: func() scaling.CycleID { return b.cycle },
	})
	return b
}

func (b *bench) note(list *[]string, text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	*list = append(*list, text)
}

// seen returns the notes since the last call and clears them.
func (b *bench) seen(list *[]string) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	got := *list
	*list = nil
	return got
}

func (b *bench) take(s config.Settings) []config.Finding {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.taken = append(b.taken, s)
	return slices.Clone(b.refuse)
}

// Start, All and Wait make the bench ConfigMaps.
func (b *bench) Start(_ context.Context, changed func(ConfigMapChange)) error {
	b.changed = changed
	return nil
}

func (b *bench) All(context.Context) ([]corev1.ConfigMap, error) {
	time.Sleep(b.takes)
	b.mu.Lock()
	b.looks++
	defer b.mu.Unlock()
	var all []corev1.ConfigMap
	for key, data := range b.maps {
		all = append(all, corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, UID: "uid"}, Data: data})
	}
	return all, nil
}

func (b *bench) Wait() {}

// Get and List make it a client.Reader.
func (b *bench) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return nil
}

func (b *bench) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	list.(*v1alpha1.VariantAutoscalingList).Items = slices.Clone(b.variants)
	return nil
}

// Eventf makes it an events.EventRecorder.
func (b *bench) Eventf(of, _ runtime.Object, kind, reason, action, note string, args ...any) {
	m := of.(*corev1.ConfigMap)
	b.note(&b.told, fmt.Sprintf("%s %s %s/%s %s: %s", kind, reason, m.Namespace, m.Name, action, fmt.Sprintf(note, args...)))
}

// write creates or updates a ConfigMap, or deletes it if there is no data, and waits until the
// Configuration has seen that.
func (b *bench) write(namespace, name string, pairs ...string) {
	key := client.ObjectKey{Namespace: namespace, Name: name}
	change := ConfigMapChange{Key: key, Trigger: "updated"}
	b.mu.Lock()
	if _, ok := b.maps[key]; !ok {
		change.Trigger = "created"
	}
	data := map[string]string{}
	for pair := range slices.Chunk(pairs, 2) {
		data[pair[0]] = pair[1]
	}
	if b.maps[key] = data; len(data) == 0 {
		delete(b.maps, key)
		change.Trigger = "deleted"
	}
	b.mu.Unlock()
	b.changed(change)
	synctest.Wait()
}

func (b *bench) threshold(namespace string) float64 {
	return b.store.Snapshot().Policy(scaling.ModelKey{Namespace: namespace, ID: "m"}).Saturation.KVCacheThreshold
}

func TestAChangeThatMattersWakesOneCycleAndSaysSo(t *testing.T) {
	const wakes = "ConfigMap changed"
	onBench(t, nil, func(t *testing.T, b *bench) {
		steps := []struct {
			name     string
			write    []string // namespace, name, pairs
			woken    []string
			trigger  string
			n, other float64 // thresholds in force
			findings int
		}{
			{name: "created", write: []string{systemNamespace, thresholdsMap, "default", "kvCacheThreshold: 0.7"}, woken: []string{wakes}, trigger: "created", n: 0.7, other: 0.7},
			{name: "same content", write: []string{systemNamespace, thresholdsMap, "default", "kvCacheThreshold: 0.70"}, n: 0.7, other: 0.7},
			{name: "updated", write: []string{systemNamespace, thresholdsMap, "default", "kvCacheThreshold: 0.6"}, woken: []string{wakes}, trigger: "updated", n: 0.6, other: 0.6},
			{name: "bad content keeps the last good", write: []string{systemNamespace, thresholdsMap, "default", "kvCacheThreshold: 60"}, n: 0.6, other: 0.6, findings: 1},
			{name: "mended", write: []string{systemNamespace, thresholdsMap, "default", "kvCacheThreshold: 0.6"}, n: 0.6, other: 0.6},
			{
				name: "override of a namespace", write: []string{"n", thresholdsMap, "default", "kvCacheThreshold: 0.5"}, woken: []string{wakes},
				trigger: "created", n: 0.5, other: 0.6,
			},
			{name: "a namespace without variants", write: []string{"elsewhere", thresholdsMap, "default", "kvCacheThreshold: 50"}, n: 0.5, other: 0.6},
			{name: "override deleted", write: []string{"n", thresholdsMap}, woken: []string{wakes}, trigger: "deleted", n: 0.6, other: 0.6},
			{name: "deleted", write: []string{systemNamespace, thresholdsMap}, woken: []string{wakes}, trigger: "deleted", n: 0.8, other: 0.8},
		}
		for _, s := range steps {
			b.seen(&b.logged)
			b.write(s.write[0], s.write[1], s.write[2:]...)
			if diff := cmp.Diff(s.woken, b.seen(&b.woken)); diff != "" {
				t.Errorf("%s: woken (-want +got):\n%s", s.name, diff)
			}
			if b.threshold("n") != s.n || b.threshold("other") != s.other {
				t.Errorf("%s: thresholds %g and %g, want %g and %g", s.name, b.threshold("n"), b.threshold("other"), s.n, s.other)
			}
			said := slices.DeleteFunc(b.seen(&b.logged), func(line string) bool { return !strings.Contains(line, "triggering global reconciliation") })
			if len(said) != len(s.woken) {
				t.Errorf("%s: log %q", s.name, said)
			}
			for _, line := range said {
				for _, part := range []string{`"configMap"="` + thresholdsMap + `"`, `"namespace"="` + s.write[0] + `"`, `"totalVAs"=3`, `"trigger"="` + s.trigger + `"`} {
					if !strings.Contains(line, part) {
						t.Errorf("%s: log %s does not say %s", s.name, line, part)
					}
				}
			}
			if told := b.seen(&b.told); len(told) != s.findings {
				t.Errorf("%s: events %q, want %d", s.name, told, s.findings)
			}
		}
	})
}

func TestManyChangesThatComeTogetherWakeOnce(t *testing.T) {
	onBench(t, nil, func(t *testing.T, b *bench) {
		b.mu.Lock()
		for namespace, value := range map[string]string{systemNamespace: "0.7", "n": "0.6", "other": "0.5"} {
			b.maps[client.ObjectKey{Namespace: namespace, Name: thresholdsMap}] = map[string]string{"default": "kvCacheThreshold: " + value}
		}
		keys := slices.SortedFunc(maps.Keys(b.maps), compareKeys)
		b.mu.Unlock()
		for range 100 {
			for _, key := range keys {
				b.changed(ConfigMapChange{Key: key, Trigger: "created"})
			}
		}
		synctest.Wait()
		if woken := b.seen(&b.woken); len(woken) != 1 {
			t.Errorf("woken %q, want once", woken)
		}
	})
}

func TestWhatIsThereAtTheStartWakesNoModel(t *testing.T) {
	onBench(t, func(b *bench) {
		b.maps[client.ObjectKey{Namespace: "n", Name: thresholdsMap}] = map[string]string{"default": "kvCacheThreshold: 0.5", "bad": "model_id: m\nmaxScaleUpStep: -1"}
	}, func(t *testing.T, b *bench) {
		if err := b.Synced(t.Context()); err != nil {
			t.Fatal(err)
		}
		if woken := b.seen(&b.woken); len(woken) != 0 || b.threshold("n") != 0.5 {
			t.Errorf("woken %q, threshold %g", woken, b.threshold("n"))
		}
		if told := b.seen(&b.told); len(told) != 1 || !strings.HasPrefix(told[0], "Warning InvalidConfiguration n/"+thresholdsMap+" bad, maxScaleUpStep: bad, maxScaleUpStep: \"-1\" is not accepted") {
			t.Errorf("events %q", told)
		}
	})
}

func TestAFindingIsToldWhenItComesUp(t *testing.T) {
	onBench(t, nil, func(t *testing.T, b *bench) {
		for i, step := range []struct {
			content string
			want    int
		}{{"kvCacheThreshold: 60", 1}, {"kvCacheThreshold: 60 ", 0}, {"kvCacheThreshold: 61", 1}, {"kvCacheThreshold: 0.6", 0}, {"kvCacheThreshold: 61", 1}} {
			b.write(systemNamespace, thresholdsMap, "default", step.content)
			if told := b.seen(&b.told); len(told) != step.want {
				t.Errorf("step %d: events %q, want %d", i, told, step.want)
			}
		}
		b.write(systemNamespace, thresholdsMap, "default", "kvCacheThreshold: 0.6", strings.Repeat("k", 253), "x: "+strings.Repeat("y", 10_000))
		for _, told := range b.seen(&b.told) {
			action, note, _ := strings.Cut(told[len("Warning InvalidConfiguration "+systemNamespace+"/"+thresholdsMap+" "):], ": ")
			if len(action) > 128 || len(note) > 1024 {
				t.Errorf("an action of %d and a note of %d bytes are refused by the API server", len(action), len(note))
			}
		}
	})
}

func TestAFindingIsToldWithTheLastCycle(t *testing.T) {
	onBench(t, nil, func(t *testing.T, b *bench) {
		for cycle, ends := range map[scaling.CycleID]string{"": "; before the first cycle", "x-41": "; cycle x-41"} {
			b.cycle = cycle
			b.write(systemNamespace, thresholdsMap, "default", "kvCacheThreshold: "+strings.Repeat("6", 2+len(cycle)))
			if told := b.seen(&b.told); len(told) != 1 || !strings.HasSuffix(told[0], ends) {
				t.Errorf("events %q, want one that ends with %q", told, ends)
			}
		}
	})
}

func TestAnEntryForAModelWithoutAVariantIsTold(t *testing.T) {
	const zeroMap = "model-scale-to-zero-config"
	serves := func(b *bench, model string) {
		before := object()
		after := object(func(va *v1alpha1.VariantAutoscaling) { va.Spec.ModelID = model })
		b.mu.Lock()
		b.variants[0].Spec.ModelID = model
		b.mu.Unlock()
		for _, h := range b.handlers {
			h.OnUpdate(before, after)
		}
		synctest.Wait()
	}
	for _, all := range []bool{true, false} {
		onBench(t, func(b *bench) { b.ServesAll = all }, func(t *testing.T, b *bench) {
			b.write(systemNamespace, zeroMap, "model.x", "modelID: typo/llama", "default", "enable_scale_to_zero: true")
			want := 0
			if all {
				want = 1
			}
			told := b.seen(&b.told)
			if len(told) != want || all && !strings.Contains(told[0], `"typo/llama" is served by no VariantAutoscaling`) {
				t.Fatalf("serves all %t: events %q, want %d", all, told, want)
			}
			serves(b, "typo/llama")
			b.write(systemNamespace, zeroMap, "model.x", "modelID: typo/llama ")
			serves(b, "another")
			if told := b.seen(&b.told); len(told) != want {
				t.Errorf("serves all %t: events %q after a variant has come and gone, want %d", all, told, want)
			}
		})
	}
}

func TestAManagerThatDoesNotLeadKeepsUpAndSaysNothing(t *testing.T) {
	onBench(t, func(b *bench) { b.Leads = make(chan struct{}) }, func(t *testing.T, b *bench) {
		b.write(systemNamespace, thresholdsMap, "default", "kvCacheThreshold: 0.6", "bad", "x")
		if told, woken := b.seen(&b.told), b.seen(&b.woken); len(told)+len(woken) != 0 || b.threshold("n") != 0.6 {
			t.Errorf("events %q, woken %q, threshold %g", told, woken, b.threshold("n"))
		}
	})
}

// TestWhoComesToLeadMissesNoChange: a change comes as the process begins to lead. Whichever is seen
// first, the change wakes one cycle.
func TestWhoComesToLeadMissesNoChange(t *testing.T) {
	for range 20 {
		var leads chan struct{}
		onBench(t, func(b *bench) { leads = make(chan struct{}); b.Leads = leads }, func(t *testing.T, b *bench) {
			close(leads)
			b.write(systemNamespace, thresholdsMap, "default", "kvCacheThreshold: 0.6")
			if woken := b.seen(&b.woken); len(woken) != 1 {
				t.Fatalf("woken %q, want once", woken)
			}
		})
	}
}

func TestAVariantBringsTheOverridesOfItsNamespace(t *testing.T) {
	onBench(t, func(b *bench) {
		b.maps[client.ObjectKey{Namespace: "new", Name: thresholdsMap}] = map[string]string{"default": "kvCacheThreshold: 0.5"}
	}, func(t *testing.T, b *bench) {
		if b.threshold("new") != 0.8 {
			t.Error("a ConfigMap in a namespace without variants is read")
		}
		b.mu.Lock()
		b.variants = append(b.variants, *object(func(va *v1alpha1.VariantAutoscaling) { va.Namespace = "new" }))
		b.mu.Unlock()
		for _, h := range b.handlers {
			h.OnAdd(object(), false)
		}
		synctest.Wait()
		if woken := b.seen(&b.woken); len(woken) != 1 || b.threshold("new") != 0.5 {
			t.Errorf("woken %q, threshold %g", woken, b.threshold("new"))
		}
	})
}

func TestSettingsAreTakenWhenTheyChangeAndFaultsAreTriedAgain(t *testing.T) {
	onBench(t, nil, func(t *testing.T, b *bench) {
		valid := func() string { return configurationValid(b.Configuration, object(), view{}).Reason }
		if len(b.taken) != 1 {
			t.Fatalf("settings taken %d times at the start, want once", len(b.taken))
		}
		b.write(systemNamespace, thresholdsMap, "default", "kvCacheThreshold: 0.6")
		if len(b.taken) != 1 {
			t.Error("settings are taken that have not changed")
		}
		b.refuse = []config.Finding{{Severity: config.Refused, Key: "PROMETHEUS_CA_CERT_PATH", Problem: "cannot be put into force: no such file"}}
		b.write(systemNamespace, settingsMap, "PROMETHEUS_CA_CERT_PATH", "/missing", "GLOBAL_OPT_INTERVAL", "30s")
		if n := len(b.taken); n != 2 || b.taken[1].Interval != 30*time.Second {
			t.Errorf("taken %d times, last %+v", n, b.taken[n-1])
		}
		if told := b.seen(&b.told); len(told) != 1 || !strings.Contains(told[0], systemNamespace+"/"+settingsMap+" PROMETHEUS_CA_CERT_PATH") {
			t.Errorf("events %q", told)
		}
		if got := valid(); got != string(v1alpha1.ReasonInvalidConfiguration) {
			t.Errorf("the condition says %s", got)
		}
		b.refuse = nil
		b.write(systemNamespace, thresholdsMap, "default", "kvCacheThreshold: 0.5")
		if len(b.taken) != 3 || valid() != string(v1alpha1.ReasonConfigurationAccepted) {
			t.Errorf("taken %d times, the condition says %s; want it tried again", len(b.taken), valid())
		}
	})
}

// GetInformer makes the bench Informers.
func (b *bench) GetInformer(context.Context, client.Object, ...cache.InformerGetOption) (cache.Informer, error) {
	return rememberedInformer{b: b}, nil
}

// rememberedInformer is an informer whose handlers the test calls.
type rememberedInformer struct {
	cache.Informer // other methods panic
	b              *bench
}

func (r rememberedInformer) AddEventHandler(h toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	r.b.handlers = append(r.b.handlers, h)
	return struct {
		toolscache.ResourceEventHandlerRegistration
	}{}, nil
}

// TestWhatTheStartHasLoggedIsToldAndNotLoggedAgain: a finding that the start has logged causes an
// event only. When it comes back later, it is logged too.
func TestWhatTheStartHasLoggedIsToldAndNotLoggedAgain(t *testing.T) {
	key := client.ObjectKey{Namespace: systemNamespace, Name: thresholdsMap}
	bad := map[string]string{"default": "kvCacheThreshold: 80"}
	findings := func(list []string) int {
		return len(slices.DeleteFunc(list, func(line string) bool { return !strings.Contains(line, "kvCacheThreshold") }))
	}
	before := func(b *bench) {
		b.maps[key] = bad
		probe, err := config.NewStore(config.StoreOptions{SystemNamespace: systemNamespace})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range probe.Apply([]config.Source{{Namespace: key.Namespace, Name: key.Name, Data: bad}}).Findings {
			b.Configuration.logged[f] = true
		}
	}
	onBench(t, before, func(t *testing.T, b *bench) {
		if logged, told := findings(b.seen(&b.logged)), findings(b.seen(&b.told)); logged != 0 || told != 1 {
			t.Errorf("at the start: logged %d times and told %d times, want 0 and 1", logged, told)
		}
		b.write(key.Namespace, key.Name) // deleted
		b.write(key.Namespace, key.Name, "default", bad["default"])
		if logged, told := findings(b.seen(&b.logged)), findings(b.seen(&b.told)); logged != 1 || told != 1 {
			t.Errorf("when it is back: logged %d times and told %d times, want 1 and 1", logged, told)
		}
	})
}

// TestEditsInALoopTakeATenthOfTheTime edits a ConfigMap ten times a second, where a look takes half
// a second.
func TestEditsInALoopTakeATenthOfTheTime(t *testing.T) {
	onBench(t, func(b *bench) { b.takes = 500 * time.Millisecond }, func(t *testing.T, b *bench) {
		for n := range 600 {
			b.write("n", thresholdsMap, "default", fmt.Sprintf("kvCacheThreshold: 0.%03d", 100+n))
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		b.mu.Lock()
		looks := b.looks
		b.mu.Unlock()
		if want := 65/5 + 2; looks > want || looks < want-3 { // two at the start
			t.Errorf("%d looks of half a second in 65 s, want %d", looks, want)
		}
		if got := b.store.Snapshot().Policy(scaling.ModelKey{Namespace: "n", ID: "m"}).Saturation.KVCacheThreshold; got != 0.699 {
			t.Errorf("the threshold in force is %g, want 0.699 of the last edit", got)
		}
	})
}
