package history

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// pods are those of the variant of single.
func pods(of ...scaling.Pod) []scaling.Pod {
	out := make([]scaling.Pod, 0, len(of))
	for _, p := range of {
		p.Namespace, p.Variant = variantKey(0).Namespace, variantKey(0)
		out = append(out, p)
	}
	return out
}

func after(n int) time.Time { return start.Add(time.Duration(n) * time.Second) }

// told is a replica in seconds since start, -1 for what is not known.
type told struct {
	Pod, Cycle                                                      string
	Ordered, Created, Scheduled, Started, Ready, Terminating, Ended int
	Phases                                                          string
}

func toldOf(all []Replica) []told {
	since := func(t Time) int {
		if t.IsZero() {
			return -1
		}
		return int(t.Sub(start).Seconds())
	}
	var out []told
	for _, r := range all {
		one := told{
			Pod: r.Pod, Ordered: since(r.Ordered), Created: since(r.Created), Scheduled: since(r.Scheduled), Started: since(r.Started),
			Ready: since(r.Ready), Terminating: since(r.Terminating), Ended: since(r.Ended),
		}
		if r.Decision != nil {
			one.Cycle = string(r.Decision.Cycle)
		}
		var phases []string
		for _, p := range r.Phases {
			phases = append(phases, p.Phase)
		}
		one.Phases = strings.Join(phases, " ")
		out = append(out, one)
	}
	return out
}

func TestAReplicaIsFollowedFromItsOrderToItsEnd(t *testing.T) {
	h := New(Options{})
	old := scaling.Pod{Name: "old", Ready: true, Created: after(-100), Scheduled: after(-99), Started: after(-98), ReadyAt: after(-60)}
	young := scaling.Pod{Name: "young", Created: after(31)}
	add := func(at int, from, to scaling.Replicas, ending []scaling.PodName, of ...scaling.Pod) {
		c := single(at, from, to)
		c.Pods, c.Ending = pods(of...), ending
		h.Add(c)
	}
	add(15, 1, 1, nil, old)
	add(30, 1, 2, nil, old)
	add(45, 2, 2, nil, old, young)
	young.Scheduled, young.Started = after(50), after(52)
	add(60, 2, 2, nil, old, young)
	young.Ready, young.ReadyAt = true, after(70)
	add(75, 2, 2, nil, old, young)
	old.Ready = false
	add(90, 2, 1, nil, old, young)
	old.Ready = true
	add(105, 1, 1, nil, old, young)
	add(120, 1, 1, []scaling.PodName{{Namespace: "ns-0", Name: "old"}, {Namespace: "ns-0", Name: "other"}}, young)
	draining, _ := h.Model(modelKey(0), after(120), time.Time{}, 0)
	if got := draining.Variants[0].Draining; len(got) != 1 || got[0] != 1 {
		t.Errorf("draining %v, want 1", got)
	}
	add(135, 1, 3, nil, young)
	got, ok := h.Replicas(modelKey(0), time.Time{}, time.Time{})
	want := []told{
		{"old", "", -1, -100, -99, -98, -60, 120, 135, "unscheduled starting serving notready serving draining"},
		{"young", "plant-31", 30, 31, 50, 52, 70, -1, -1, "ordered unscheduled starting serving"},
		{"", "plant-136", 135, -1, -1, -1, -1, -1, -1, ""},
		{"", "plant-136", 135, -1, -1, -1, -1, -1, -1, ""},
	}
	if diff := cmp.Diff(toldOf(got.Replicas), want); !ok || diff != "" {
		t.Errorf("found %t, replicas, -got +want:\n%s", ok, diff)
	}
	if says, want := got.Replicas[1].Says, "pod young became Ready 40s after it was ordered: 1s until its pod was created, 19s without a node, 20s starting"; says != want {
		t.Errorf("it says %q, want %q", says, want)
	}
	if later, _ := h.Replicas(modelKey(0), after(136), after(140)); len(later.Replicas) != 3 {
		t.Errorf("%d replicas after the old one ended, want 3", len(later.Replicas))
	}
}

func TestAnOrderThatIsTakenBackHasNoReplica(t *testing.T) {
	h := New(Options{})
	for i, step := range [][2]scaling.Replicas{{1, 4}, {4, 2}, {2, 2}} {
		c := single(15*(i+1), step[0], step[1])
		c.Pods = pods(scaling.Pod{Name: "a", Ready: true, Created: after(-50), ReadyAt: after(-10)})
		h.Add(c)
	}
	got, _ := h.Replicas(modelKey(0), time.Time{}, time.Time{})
	if len(got.Replicas) != 2 || got.Replicas[1].Pod != "" {
		t.Errorf("replicas %+v, want the pod and one that is ordered", toldOf(got.Replicas))
	}
}

func TestARecordTellsWhenPodsWereSeen(t *testing.T) {
	h := New(Options{})
	add := func(at int, from, to scaling.Replicas, of ...string) {
		c := single(at, from, to)
		c.Snapshots[0].Replicas = nil
		for _, name := range of {
			name, isReady := strings.CutSuffix(name, "!")
			c.Snapshots[0].Replicas = append(c.Snapshots[0].Replicas, scaling.ReplicaSample{Pod: name, Variant: variantKey(0), Ready: isReady})
		}
		h.Add(c)
	}
	add(15, 1, 2, "a!")
	add(30, 2, 2, "a!", "b")
	add(45, 2, 2, "a!", "b!")
	add(60, 2, 1, "a!", "b!")
	add(75, 1, 1, "b!")
	got, _ := h.Replicas(modelKey(0), time.Time{}, time.Time{})
	want := []told{
		{"a", "", -1, -1, -1, -1, -1, 75, -1, "serving"},
		{"b", "plant-16", 15, 30, -1, -1, 45, -1, -1, "ordered starting serving"},
	}
	if diff := cmp.Diff(toldOf(got.Replicas), want); diff != "" {
		t.Errorf("replicas, -got +want:\n%s", diff)
	}
}
