package roofline

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

func named(t *testing.T, model, accelerator string) (Model, Accelerator) {
	t.Helper()
	m, sized := Named(model, scaling.Loaded{})
	on, known := ByName(accelerator)
	if !sized || !known {
		t.Fatalf("%s on %s is not known", model, accelerator)
	}
	return m, on
}

// TestTheLawInNumbers: reading 8 * 10^9 parameters of 2 bytes at 0.8 * 3350 GB/s takes 5.97 ms, and
// 32 layers take 2.72 ms more. Reading 700 tokens of 131 kB takes 0.034 ms. 16 * 10^9 operations
// for a token, at half of 989 * 10^12 per second, take 0.032 ms.
func TestTheLawInNumbers(t *testing.T) {
	m, on := named(t, "Llama-3.1-8B", "H100")
	got, err := Of(m, on, 1, 700, 0.9)
	want := Speed{Step: 8.69, Request: 0.0492, Token: 0.0324, KV: 411987}
	if err != nil || math.Abs(got.Step-want.Step) > 0.01 || math.Abs(got.Request-want.Request) > 0.001 ||
		math.Abs(got.Token-want.Token) > 0.0001 || math.Abs(got.KV-want.KV) > 1 {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	m, on = named(t, "Llama-3.3-70B", "H100")
	if _, err := Of(m, on, 1, 700, 0); err == nil || err.Error() != "its 140 GB of parameters do not fit into 70 GB on 1 x H100" {
		t.Errorf("70 * 10^9 parameters on one H100: %v", err)
	}
}

// TestMoreHardwareIsFaster: so is a smaller, a quantized or a sparser model.
func TestMoreHardwareIsFaster(t *testing.T) {
	of := func(model, accelerator string, count scaling.Accelerators) Speed {
		m, on := named(t, model, accelerator)
		s, err := Of(m, on, count, 500, 0)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for name, pair := range map[string][2]Speed{
		"H100 than A100":            {of("Qwen3-32B", "H100", 2), of("Qwen3-32B", "A100", 2)},
		"four than two":             {of("Qwen3-32B", "A100", 4), of("Qwen3-32B", "A100", 2)},
		"8 than 14 * 10^9":          {of("Qwen3-8B", "L40S", 1), of("Qwen3-14B", "L40S", 1)},
		"3 * 10^9 of 30 than all":   {of("Qwen3-30B-A3B", "H200", 1), of("Qwen3-30B", "H200", 1)},
		"MI300X than MI250":         {of("Qwen3-32B", "MI300X", 1), of("Qwen3-32B", "MI250", 1)},
		"of the same, in 8 than 16": {of("Qwen3-32B-FP8", "H200", 1), of("Qwen3-32B", "H200", 1)},
	} {
		if fast, slow := pair[0], pair[1]; !(fast.Step < slow.Step && fast.Token <= slow.Token) {
			t.Errorf("%s: %+v and %+v", name, fast, slow)
		}
	}
}

// measurement is a profile that was measured elsewhere.
type measurement struct {
	ID, Model, Accelerator string
	GPUs                   int                `json:"tensor_parallel"`
	Alpha                  float64            `json:"alpha_ms"`
	Beta                   float64            `json:"beta_ms"`
	Raw                    map[string]float64 `json:"raw_decode_ms_by_batch"`
}

// point is a measured ITL with n requests decoding.
type point struct {
	of     string // model without its quantization; a fit leaves out all points of one
	model  Model
	on     Accelerator
	gpus   float64
	n, itl float64
}

// context is the approximate mean number of tokens that a request of a benchmark holds.
const context = 700

func (p point) by(l law) Speed { return l.of(p.model, p.on, p.gpus, context) }

// points returns the measured ITLs. Of a recommended profile without raw measurements it returns
// the ITL of its fit at every doubling of the batch.
func points(t *testing.T) []point {
	t.Helper()
	shared := os.Getenv("WVA_SHARED")
	if shared == "" {
		t.Skip("WVA_SHARED not set")
	}
	var file struct {
		Profiles    []measurement
		Recommended []string `json:"recommended_ids"`
	}
	content, err := os.ReadFile(filepath.Join(shared, "traces", "profiles.json"))
	if err == nil {
		err = json.Unmarshal(content, &file)
	}
	if err != nil {
		t.Fatal(err)
	}
	var out []point
	for _, one := range file.Profiles {
		if len(one.Raw) == 0 && !slices.Contains(file.Recommended, one.ID) {
			continue
		}
		p := point{of: base(one.Model), gpus: float64(one.GPUs)}
		p.model, p.on = named(t, one.Model, one.Accelerator)
		for n := 1; n <= 256; n *= 2 {
			p.n, p.itl = float64(n), one.Alpha+one.Beta*float64(n)
			if len(one.Raw) > 0 {
				p.itl = one.Raw[strconv.Itoa(n)]
			}
			if p.itl > 0 {
				out = append(out, p)
			}
		}
	}
	return out
}

// base returns the name of a model without its owner and its quantization.
func base(model string) string {
	name := strings.ToLower(model[strings.LastIndex(model, "/")+1:])
	for _, cut := range []string{"-fp8", "-quantized", "-instruct", "-hf"} {
		name, _, _ = strings.Cut(name, cut)
	}
	return name
}

// fit returns the law with the least squared logarithmic error at the points of all models but
// without. Every model counts equally.
func fit(all []point, without string) law {
	count := map[string]float64{}
	for _, p := range all {
		count[p.of]++
	}
	loss := func(l law) float64 {
		sum := 0.0
		for _, p := range all {
			if s := p.by(l); p.of != without {
				off := math.Log(p.itl / (s.Step + s.Request*p.n))
				sum += off * off / count[p.of]
			}
		}
		return sum
	}
	best := fitted
	for step := 0.5; step > 0.005; step /= 2 {
		for moved := true; moved; {
			moved = false
			for _, by := range []law{{layer: step}, {layer: -step}, {request: step}, {request: -step}} {
				try := best
				try.layer *= math.Exp(by.layer)
				try.request *= math.Exp(by.request)
				if loss(try) < loss(best) {
					best, moved = try, true
				}
			}
		}
	}
	return best
}

// TestTheLawCoversModelsThatWereLeftOut: of models that the fit did not see, 75 to 90 % of the
// measured ITLs are within the stated 80 % interval.
func TestTheLawCoversModelsThatWereLeftOut(t *testing.T) {
	all := points(t)
	if l := fit(all, ""); math.Abs(math.Log(l.layer/fitted.layer)) > 0.1 || math.Abs(math.Log(l.request/fitted.request)) > 0.3 {
		t.Errorf("the fit is %+v, want about %+v", l, fitted)
	}
	laws, within, count, lowest := map[string]law{}, 0.0, map[bool]float64{}, map[string]int{}
	factor := 0.0
	for _, p := range all {
		if _, done := laws[p.of]; !done {
			laws[p.of] = fit(all, p.of)
		}
		s := p.by(laws[p.of])
		itl, times := s.Range([3]float64{1, p.n, 0}, 0.8)
		in := p.itl >= itl/times && p.itl <= itl*times
		count[in]++
		factor += math.Log(times)
		if !in {
			lowest[p.of]++
		}
	}
	sum := count[true] + count[false]
	within = count[true] / sum
	t.Logf("%.1f %% of %.0f points of %d models are within a factor of %.2f in the mean; outside are %v", 100*within, sum, len(laws), math.Exp(factor/sum), lowest)
	if within < 0.75 || within > 0.9 {
		t.Errorf("%.1f %% of the points are within, want 75 to 90", 100*within)
	}
}
