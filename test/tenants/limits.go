package tenants

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/budget"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// fills returns, by name, the functions that fill a default budget of the namespace.
func fills() map[string]func(h *hostile) {
	return map[string]func(h *hostile){
		"variants-of-one-model": func(h *hostile) { fillVariants(h, func(int) string { return "evil/one" }) },
		"variants":              func(h *hostile) { fillVariants(h, func(n int) string { return fmt.Sprint("evil/m", n) }) },
		"object-bytes":          fillObjectBytes,
		"large-batches":         func(h *hostile) { fillBatches(h, scaling.MostBatch) },
		"many-batches":          func(h *hostile) { fillBatches(h, h.manyBatches()) },
		"page-bytes":            fillPageBytes,
		"series":                fillSeries,
		"findings":              fillFindings,
		"events":                fillEvents,
	}
}

// fillVariants adds variants up to the number that is served, each without a replica.
func fillVariants(h *hostile, model func(n int) string) {
	for n := h.variants; n < budget.DefaultLimits().Variants; n++ {
		h.rawVariant(variantSpec{namespace: evil, name: h.name("full"), model: model(n), product: h.product(), gpus: 1})
	}
}

// fillObjectBytes adds objects with the longest texts that the API server takes.
func fillObjectBytes(h *hostile) {
	const each = 1 << 20
	for range budget.DefaultLimits().ObjectBytes / each {
		h.variant("full", 0, func(va *v1alpha1.VariantAutoscaling) { va.Spec.ModelID = va.Name + strings.Repeat("m", each-4<<10) })
	}
}

// fillBatches adds variants of models of their own, with profiles of the batch size batch. No two
// profiles are equal, none keeps the objectives, and all are short of replicas: each is sized
// several times.
func fillBatches(h *hostile, batch int) {
	for n := range min(budget.DefaultLimits().BatchSizes/batch, budget.DefaultLimits().Variants-h.variants) {
		of := profile(int32(batch))
		of.PerfParms.DecodeParms = map[string]string{"alpha": fmt.Sprint(500 + n), "beta": "1"}
		of.PerfParms.PrefillParms = map[string]string{"gamma": fmt.Sprint(20_000 + n), "delta": "0.01"}
		h.sized(fmt.Sprint("evil/sized-", n), of)
	}
}

// manyBatches returns the batch size with which as many variants as are served fill the budget.
func (h *hostile) manyBatches() int {
	return budget.DefaultLimits().BatchSizes / (budget.DefaultLimits().Variants - h.variants)
}

// fillPageBytes adds pods with as many series as each may have, and with long labels that change
// each time, so that their pages exceed what is kept.
func fillPageBytes(h *hostile) {
	h.fillPages(16, budget.DefaultLimits().Series/16, func(at time.Time) string { return strings.Repeat("l", 240) + strconv.FormatInt(at.Unix(), 10) })
}

// fillSeries adds two pods that together have as many series as are kept.
func fillSeries(h *hostile) {
	h.fillPages(2, budget.DefaultLimits().Series/2, func(time.Time) string { return "" })
}

// fillFindings adds entries with a field that is refused: more than are read.
func fillFindings(h *hostile) {
	names := config.PublishedNames()
	for _, kind := range []config.Kind{config.KindSaturation, config.KindScaleToZero} {
		data := map[string]string{}
		for n := range 5000 {
			data[strconv.Itoa(n)] = fmt.Sprintf("model_id: m%d\nmodelID: m%d\nkvCacheThreshold: 9\nenableScaleToZero: 9", n, n)
		}
		h.addConfigMap(evil, names[kind][0], data)
	}
}

// fillEvents adds two and a half times as many variants as are served. Each served one has four
// events: wrong, decided, held and not followed. Each of the others has one.
func fillEvents(h *hostile) {
	for n := range budget.DefaultLimits().Variants * 5 / 2 {
		h.rawVariant(variantSpec{
			namespace: evil, name: h.name("told"), model: fmt.Sprint("evil/m", n), product: h.product(), gpus: 1,
			change: func(va *v1alpha1.VariantAutoscaling) {
				va.Spec.SLOClassRef = &v1alpha1.SLOClassRef{Name: "absent", Key: "absent"}
				va.Spec.VariantProfile = profile(64)
				va.Spec.VariantProfile.PerfParms.DecodeParms["alpha"] = "x"
			},
		})
	}
	fillFindings(h)
}

// fillPages adds variants with a pod each, whose page has series series.
func (h *hostile) fillPages(pods, series int, label func(at time.Time) string) {
	names := wantedNames()
	for pod := range pods {
		h.serve(page{lines: func(n int, at time.Time) string {
			if n >= series {
				return ""
			}
			// Concatenated, not formatted: the time to make a page counts as the manager's.
			return names[n%len(names)] + "{model_name=\"evil/served-" + strconv.Itoa(pod) + "\",engine=\"" + strconv.Itoa(n/len(names)) + label(at) + "\"} " + strconv.Itoa(n) + "\n"
		}})
	}
}
