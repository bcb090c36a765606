package store_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/llm-d-incubation/workload-variant-autoscaler/config/rbac"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/store"
	"github.com/llm-d-incubation/workload-variant-autoscaler/test/testbed"
	"github.com/llm-d-incubation/workload-variant-autoscaler/test/testbed/apitest"
)

// system is the namespace that the generated Role is for.
const (
	system  = "workload-variant-autoscaler-system"
	account = "manager"
	name    = "wva-store-start-ups"
)

// TestOnAPIServer keeps start-ups in a real API server, as an account that may do what
// the Role of the manager says and nothing else. Its parts follow each other.
func TestOnAPIServer(t *testing.T) {
	s := newStage(t)
	model := scaling.ModelKey{Namespace: "llm-inference", ID: "meta/llama-3.1-8b"}
	two := memory.VariantStartUps{"l40s": {
		{Pod: "0a1b2c3d", Created: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC), Took: 97 * time.Second},
		{Pod: "4e5f6a7b", Created: time.Date(2026, 11, 20, 13, 0, 0, 0, time.UTC), Took: 130 * time.Second},
	}}
	first := map[scaling.ModelKey]memory.VariantStartUps{model: {"l40s": two["l40s"][:1]}}

	t.Run("WithoutTheRoleTheRightIsNamed", func(t *testing.T) {
		p := s.begin(t)
		p.entries.Keep(first)
		p.eventually(t, func() bool { return p.says(`cannot get resource "configmaps"`, "set WVA_STORE=false") })
	})
	s.grant(t)
	t.Run("TheConfigMapIsCreated", func(t *testing.T) {
		p := s.begin(t)
		p.entries.Keep(first)
		p.eventually(t, func() bool { return len(s.held(t).Data) == 1 })
		if got := p.told(); got != "" {
			t.Errorf("told %s", got)
		}
	})
	t.Run("AnotherProcessReadsIt", func(t *testing.T) {
		p := s.begin(t)
		if diff := cmp.Diff(p.loaded, first); diff != "" {
			t.Errorf("-got +want:\n%s", diff)
		}
	})
	t.Run("ItIsUpdatedThoughAUserWroteMeanwhile", func(t *testing.T) {
		p := s.begin(t)
		m := s.held(t)
		m.Labels["team"] = "serving"
		if err := s.Client.Update(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		p.entries.Keep(map[scaling.ModelKey]memory.VariantStartUps{model: two})
		p.eventually(t, func() bool { return s.described(t)[0].Says == "l40s 1m37s (9 of 10 within 2m10s, 2 pods)" })
		if got := s.held(t).Labels["team"]; got != "serving" {
			t.Errorf("the user's label is %q", got)
		}
	})
	t.Run("AnEntryThatWasEditedIsNamed", func(t *testing.T) {
		m := s.held(t)
		for key, text := range m.Data {
			m.Data[key] = strings.ReplaceAll(text, "1m37s", "9m37s")
		}
		if err := s.Client.Update(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		p := s.begin(t)
		if len(p.loaded) != 0 || !p.says("StoredEntryIgnored", "its checksum is not that of its text") {
			t.Errorf("loaded %v, told %s", p.loaded, p.told())
		}
		if got := s.described(t)[0].Ignored; !strings.Contains(got, "checksum") {
			t.Errorf("described as %q", got)
		}
	})
	t.Run("ItIsCreatedAgainAfterAUserDeletedIt", func(t *testing.T) {
		p := s.begin(t)
		if err := s.Client.Delete(t.Context(), s.held(t)); err != nil {
			t.Fatal(err)
		}
		p.entries.Keep(map[scaling.ModelKey]memory.VariantStartUps{model: two})
		p.eventually(t, func() bool {
			all := s.described(t)
			return len(all) == 1 && all[0].Ignored == ""
		})
	})
	t.Run("NoOtherConfigMapMayBeReadOrWritten", func(t *testing.T) {
		other := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: "other"}}
		if err := s.Client.Create(t.Context(), other.DeepCopy()); err != nil {
			t.Fatal(err)
		}
		if err := s.own.Get(t.Context(), client.ObjectKeyFromObject(other), other.DeepCopy()); err == nil {
			t.Error("another ConfigMap may be read")
		}
		if err := s.own.Update(t.Context(), other.DeepCopy()); err == nil {
			t.Error("another ConfigMap may be written")
		}
	})
}

// stage is an API server with the manager's namespace, and the manager's account.
type stage struct {
	*testbed.Bed
	own client.Client
}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{Bed: apitest.Start(t)}
	as := rest.CopyConfig(s.Config)
	as.Impersonate.UserName = account
	var err error
	if s.own, err = client.New(as, client.Options{Scheme: testbed.Scheme()}); err != nil {
		t.Fatal(err)
	}
	if err := s.Namespace(t.Context(), system); err != nil {
		t.Fatal(err)
	}
	return s
}

// grant gives the account the Role for the manager's namespace.
func (s *stage) grant(t *testing.T) {
	t.Helper()
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(rbac.ManagerRoles())))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			t.Fatal("the manager has no Role")
		}
		var role rbacv1.Role
		if err := errors.Join(err, yaml.Unmarshal(document, &role)); err != nil {
			t.Fatal(err)
		}
		if role.Kind != "Role" {
			continue
		}
		binding := &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: role.Name}, Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: account}},
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
		}
		if err := errors.Join(s.Client.Create(t.Context(), &role), s.Client.Create(t.Context(), binding)); err != nil {
			t.Fatal(err)
		}
		s.allowed(t)
		return
	}
}

// allowed waits until the API server has seen the Role.
func (s *stage) allowed(t *testing.T) {
	t.Helper()
	(&process{}).eventually(t, func() bool {
		err := s.own.Get(t.Context(), client.ObjectKey{Namespace: system, Name: name}, &corev1.ConfigMap{})
		return client.IgnoreNotFound(err) == nil
	})
}

// held returns the ConfigMap, empty where it is not there.
func (s *stage) held(t *testing.T) *corev1.ConfigMap {
	t.Helper()
	m := &corev1.ConfigMap{}
	if err := client.IgnoreNotFound(s.Client.Get(t.Context(), client.ObjectKey{Namespace: system, Name: name}, m)); err != nil {
		t.Fatal(err)
	}
	return m
}

func (s *stage) described(t *testing.T) []store.Description {
	t.Helper()
	all, err := store.Describe(t.Context(), s.Client, system)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// process is a manager with a store, until the end of the test.
type process struct {
	entries *store.Entries[memory.VariantStartUps]
	loaded  map[scaling.ModelKey]memory.VariantStartUps

	mu    sync.Mutex
	notes []string
}

func (s *stage) begin(t *testing.T) *process {
	t.Helper()
	p := &process{}
	keeps := store.New(store.Options{Namespace: system, Objects: s.own, Events: p, Log: logr.Discard(), Clock: clock.RealClock{}})
	p.entries = store.Add(keeps, store.StartUps())
	p.loaded = p.entries.Load(t.Context())
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := keeps.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { cancel(); running.Wait() })
	return p
}

// Eventf stores the event.
func (p *process) Eventf(_, _ runtime.Object, _, reason, _, note string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := note
	if len(args) == 1 {
		text, _ = args[0].(string)
	}
	p.notes = append(p.notes, reason+": "+text)
}

func (p *process) told() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.notes, "\n")
}

func (p *process) says(parts ...string) bool {
	for _, part := range parts {
		if !strings.Contains(p.told(), part) {
			return false
		}
	}
	return true
}

// eventually waits until something holds: the API server answers in its own time.
func (p *process) eventually(t *testing.T, holds func() bool) {
	t.Helper()
	deadline, ticker := time.After(20*time.Second), time.NewTicker(50*time.Millisecond)
	defer ticker.Stop()
	for !holds() {
		select {
		case <-deadline:
			t.Fatalf("not within 20s; told %s", p.told())
		case <-ticker.C:
		}
	}
}
