package policy

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// golden are input and output vectors of the peers' rules.
type golden struct {
	AverageValue []struct {
		Total    float64          `json:"total"`
		Target   float64          `json:"target"`
		Replicas scaling.Replicas `json:"replicas"`
		Out      scaling.Replicas `json:"out"`
	} `json:"hpa_average_value"`
	Pods []struct {
		Values  []float64        `json:"values"`
		Target  float64          `json:"target"`
		Current scaling.Replicas `json:"current"`
		Missing int              `json:"ready_without_metric"`
		Out     scaling.Replicas `json:"out"`
	} `json:"hpa_pods"`
	Behavior []struct {
		T       int              `json:"t"`
		Current scaling.Replicas `json:"current"`
		Desired scaling.Replicas `json:"desired"`
		Out     scaling.Replicas `json:"out"`
	} `json:"hpa_default_behavior_sequence"`
	KPA []struct {
		Now       int              `json:"now"`
		Ready     scaling.Replicas `json:"ready"`
		Stable    float64          `json:"stable"`
		Panic     float64          `json:"panic"`
		Desired   scaling.Replicas `json:"desired"`
		Panicking bool             `json:"panicking"`
	} `json:"kpa_target7_sequence_ready_follows_desired"`
	APA []struct {
		Current scaling.Replicas `json:"cur"`
		Use     float64          `json:"use"`
		Target  float64          `json:"target"`
		Out     scaling.Replicas `json:"out"`
	} `json:"apa"`
	Ray []struct {
		Total   float64          `json:"total"`
		Target  float64          `json:"target"`
		Current scaling.Replicas `json:"cur"`
		Out     scaling.Replicas `json:"out"`
	} `json:"ray_serve"`
	Dynamo []struct {
		Requests   float64          `json:"next_num_req"`
		ISL        float64          `json:"isl"`
		OSL        float64          `json:"osl"`
		Interval   float64          `json:"interval"`
		Correction float64          `json:"prefill_corr"`
		PrefillTPG float64          `json:"prefill_thpt_per_gpu"`
		DecodeTPG  float64          `json:"decode_thpt_per_gpu"`
		GPUs       float64          `json:"gpus"`
		Prefill    scaling.Replicas `json:"prefill"`
		Decode     scaling.Replicas `json:"decode"`
	} `json:"dynamo_classic"`
	V1 []struct {
		Replicas [][2]float64 `json:"replicas_kv_queue"`
		Out      struct {
			KV     float64 `json:"avg_spare_kv"`
			Queue  float64 `json:"avg_spare_queue"`
			Grow   bool    `json:"scale_up"`
			Shrink bool    `json:"scale_down_safe"`
			Delta  int     `json:"delta"`
		} `json:"out"`
	} `json:"wva_v1"`
	V2 []struct {
		Args struct {
			KV      float64          `json:"total_kv"`
			Thr     float64          `json:"kv_thr"`
			InUse   float64          `json:"tokens_in_use"`
			Queue   float64          `json:"queue"`
			In      float64          `json:"avg_in"`
			Out     float64          `json:"avg_out"`
			Ready   scaling.Replicas `json:"ready"`
			Pending scaling.Replicas `json:"pending"`
		} `json:"args"`
		Out struct {
			Capacity  float64          `json:"capacity"`
			Demand    float64          `json:"demand"`
			Required  float64          `json:"required"`
			Spare     float64          `json:"spare"`
			Add       scaling.Replicas `json:"add"`
			RemoveMax scaling.Replicas `json:"remove_max"`
		} `json:"out"`
	} `json:"wva_v2"`
	Series []struct {
		Status scaling.Replicas `json:"status_replicas"`
		Wanted float64          `json:"wva_desired_replicas"`
		Out    scaling.Replicas `json:"out"`
	} `json:"hpa_reading_wva_desired_replicas_target1"`
}

// readGolden reads the copy in testdata, and the shared file where WVA_SHARED
// says that it is there: the two must be the same.
func readGolden(t *testing.T) golden {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "peers.json"))
	if err != nil {
		t.Fatal(err)
	}
	if shared := os.Getenv("WVA_SHARED"); shared != "" {
		original, err := os.ReadFile(filepath.Join(shared, "golden", "peers.json"))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(text), string(original)); diff != "" {
			t.Errorf("testdata/peers.json differs from the shared file (-copy +shared):\n%s", diff)
		}
	}
	var g golden
	if err := json.Unmarshal(text, &g); err != nil {
		t.Fatal(err)
	}
	return g
}

var begin = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func at(seconds int) time.Time { return begin.Add(time.Duration(seconds) * time.Second) }

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-6*max(1, math.Abs(b)) }

func TestGoldenHPA(t *testing.T) {
	g := readGolden(t)
	for _, c := range g.AverageValue {
		if got := AverageValue(c.Total, c.Target, c.Replicas, DefaultTolerance()); got != c.Out {
			t.Errorf("AverageValue %+v: got %d", c, got)
		}
	}
	for _, c := range g.Pods {
		got, err := PodsAverage(c.Values, c.Missing, 0, c.Current, c.Target, DefaultTolerance())
		if err != nil || got != c.Out {
			t.Errorf("PodsAverage %+v: got %d, %v", c, got, err)
		}
	}
	for _, c := range g.Series {
		if got := AverageValue(c.Wanted, 1, c.Status, DefaultTolerance()); got != c.Out {
			t.Errorf("HPA reading a number of replicas %+v: got %d", c, got)
		}
	}
	h := &HPA{Behavior: DefaultBehavior()}
	for _, c := range g.Behavior {
		s := Scale{Spec: c.Current, Bounds: scaling.Unbounded()}
		got, why := h.Reconcile(at(c.T), s, []Proposal{{Metric: "golden", Replicas: c.Desired}})
		if got != c.Out {
			t.Errorf("behavior %+v: got %d (%s)", c, got, why)
		}
	}
	if len(g.AverageValue)*len(g.Pods)*len(g.Series)*len(g.Behavior) == 0 {
		t.Error("the golden file has lost vectors")
	}
}

func TestGoldenKPA(t *testing.T) {
	g := readGolden(t)
	const target = 7
	k := NewKPADecider(DefaultKPAParams(), begin, 1)
	for _, c := range g.KPA {
		got, mode := k.Desired(at(c.Now), c.Ready, c.Stable/target, c.Panic/target)
		if got != c.Desired || (mode == "panic") != c.Panicking {
			t.Errorf("%+v: got %d in mode %s", c, got, mode)
		}
	}
	if len(g.KPA) == 0 {
		t.Error("the golden file has lost vectors")
	}
}

func TestGoldenServingFrameworks(t *testing.T) {
	g := readGolden(t)
	for _, c := range g.APA {
		p := DefaultAPAParams()
		p.Target = c.Target
		if got := max(1, APA(c.Current, c.Use, p)); got != c.Out {
			t.Errorf("APA %+v: got %d", c, got)
		}
	}
	for _, c := range g.Ray {
		p := DefaultRayParams()
		p.Target = c.Target
		if got := RayServe(c.Total, c.Current, p); got != c.Out {
			t.Errorf("Ray Serve %+v: got %d", c, got)
		}
	}
	for _, c := range g.Dynamo {
		prefill, decode := engines(dynamoDemand{
			rate: c.Requests / c.Interval, input: c.ISL, output: c.OSL, correction: c.Correction,
			prefill: c.PrefillTPG * c.GPUs, decode: c.DecodeTPG * c.GPUs,
		})
		if p, d := max(1, ceil(prefill)), max(1, ceil(decode)); p != c.Prefill || d != c.Decode {
			t.Errorf("Dynamo %+v: got %d and %d", c, p, d)
		}
	}
	if len(g.APA)*len(g.Ray)*len(g.Dynamo) == 0 {
		t.Error("the golden file has lost vectors")
	}
}

func TestGoldenSpareCapacity(t *testing.T) {
	g := readGolden(t)
	for _, c := range g.V1 {
		peaks := make([]Peak, len(c.Replicas))
		for i, r := range c.Replicas {
			peaks[i] = Peak{KV: r[0], Queue: r[1]}
		}
		s := MeasureSpare(peaks, DefaultSpareParams())
		if !near(s.KV, c.Out.KV) || !near(s.Queue, c.Out.Queue) || s.Grow != c.Out.Grow || s.Shrink != c.Out.Shrink {
			t.Errorf("%v: got %+v, want %+v", c.Replicas, s, c.Out)
		}
	}
	for _, c := range g.V2 {
		a := c.Args
		v := oneVariant(a.Ready, a.Pending)
		v.KVTokens, v.Profile.MaxBatchSize, v.BatchedTokens = a.KV, 256, 8192
		for i := range a.Ready {
			v.Pods[i].KVCacheUsage, v.Pods[i].QueueLength = fresh(a.InUse/a.KV), fresh(a.Queue)
		}
		p := DefaultTokenSpareParams()
		p.KV = a.Thr
		law := &tokenSpare{p, peaksOverTime{window: p.Window}, map[learnedKey][]float64{}}
		size, demand := law.measure(v, law.peaks.observe(begin, []Variant{v})[0], a.In, a.Out)
		b := balance{demand: demand, supply: float64(a.Ready) * size, ordered: float64(a.Pending) * size}
		short, spare := b.required(p)
		got := []float64{size, demand, math.Round(short*10) / 10, math.Round(spare*10) / 10}
		want := []float64{c.Out.Capacity, c.Out.Demand, c.Out.Required, c.Out.Spare}
		for i := range want {
			if !near(got[i], want[i]) {
				t.Errorf("%+v: got capacity, demand, required, spare %v, want %v", a, got, want)
				break
			}
		}
		sizes := map[scaling.VariantKey]float64{v.Key: size}
		present := v.Replicas.Current
		v.Bounds.Min = 0
		if add := grow([]Variant{v}, sizes, short)[v.Key] - present; add != c.Out.Add {
			t.Errorf("%+v: adds %d, want %d", a, add, c.Out.Add)
		}
		if less := present - shrink([]Variant{v}, sizes, spare)[v.Key]; less != c.Out.RemoveMax {
			t.Errorf("%+v: removes %d, want %d", a, less, c.Out.RemoveMax)
		}
	}
	if len(g.V1)*len(g.V2) == 0 {
		t.Error("the golden file has lost vectors")
	}
}

func fresh(v float64) scaling.Reading { return scaling.Measured(v, scaling.Fresh) }

// oneVariant has that many replicas that are ready and idle, and that many that
// run and are not ready.
func oneVariant(ready, pending scaling.Replicas) Variant {
	v := Variant{
		Variant: scaling.Variant{
			Key:            scaling.VariantKey{Namespace: "ns", Name: "v"},
			GPUsPerReplica: 1, Cost: 10, Bounds: scaling.Bounds{Min: 1, Max: 100},
			Profile:  scaling.Profile{Source: "test", Alpha: 10, Beta: 0.5, Gamma: 20, Delta: 0.1, MaxBatchSize: 64},
			Replicas: scaling.ReplicaCounts{Observed: true, Current: ready + pending, Ready: ready, Pending: pending},
		},
		ArrivalRate: fresh(0),
		KVTokens:    100_000,
		Benchmark:   Benchmark{Concurrency: 20, Rate: 5, PrefillSpeed: 5000, InputTokens: 1000, OutputTokens: 200},
	}
	for i := range ready {
		v.Pods = append(v.Pods, Pod{
			Name: "v-" + string(rune('a'+i%26)) + string(rune('a'+i/26)), Ready: true,
			KVCacheUsage: fresh(0), QueueLength: fresh(0), Running: fresh(0), QueuedTokens: fresh(0),
		})
	}
	for i := range pending {
		v.Pods = append(v.Pods, Pod{Name: "w-" + string(rune('a'+i%26)) + string(rune('a'+i/26))})
	}
	return v
}
