package history

import (
	"cmp"
	"maps"
	"slices"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// The columns of a model.
const (
	load = iota
	utilization
	ttft
	itl
	missed
	waiting
	cost
	modelColumns
)

// The columns of a variant.
const (
	desired = iota
	current
	ready
	serving
	draining
	variantColumns
)

// The parts of the memory for each column: a measured quantity has another value in each cycle, a
// number of replicas changes a few times a day.
var (
	modelParts   = [modelColumns]int{load: 16, utilization: 16, ttft: 16, itl: 16, missed: 16, waiting: 8, cost: 3}
	variantParts = [variantColumns]int{3, 3, 3, 3, 2}
)

const modelSum, variantSum = 91, 14

// entryBytes is about the size of a model or a variant without its points: its struct, its place in
// a map, its names.
const entryBytes = 600

// modelSeries is a model over time.
type modelSeries struct {
	key     scaling.ModelKey
	begins  instant
	seen    instant // the last cycle with it
	gone    bool    // it is not in the last cycle
	columns [modelColumns]series
}

// variantSeries is a variant over time.
type variantSeries struct {
	key     scaling.VariantKey
	model   scaling.ModelKey
	seen    instant
	gone    bool
	columns [variantColumns]series
	orders  []order
	serving int // scratch of a cycle: replicas that are Ready and report
	ending  int // scratch of a cycle: replicas that terminate
}

// same reports whether the last known decision for v was n.
func (v *variantSeries) same(n scaling.Replicas) bool {
	s := &v.columns[desired]
	return len(s.points) > 0 && s.last == float32(n)
}

// table holds the series of all models and variants, within a number of bytes.
type table struct {
	bytes    int
	span     instant
	models   map[scaling.ModelKey]*modelSeries
	variants map[scaling.VariantKey]*variantSeries
	parts    int // the memory is divided into so many parts; an eighth more than needed
	unit     int // points of a part
}

func newTable(bytes int, span instant) *table {
	return &table{bytes: bytes, span: span, models: map[scaling.ModelKey]*modelSeries{}, variants: map[scaling.VariantKey]*variantSeries{}}
}

// model returns the series of a model for a cycle, new ones where there are none.
func (t *table) model(key scaling.ModelKey, at instant) *modelSeries {
	m := t.models[key]
	if m == nil {
		m = &modelSeries{key: key, begins: at}
		t.models[key] = m
	}
	m.seen, m.gone = at, false
	return m
}

// variant returns the series of a variant for a cycle, new ones where there are none.
func (t *table) variant(key scaling.VariantKey, at instant) *variantSeries {
	v := t.variants[key]
	if v == nil {
		v = &variantSeries{key: key}
		t.variants[key] = v
	}
	v.seen, v.gone = at, false
	return v
}

// need returns the number of parts that the entries need.
func (t *table) need() int { return modelSum*len(t.models) + variantSum*len(t.variants) }

// share divides the memory among the entries, when they need more parts than there are. It makes an
// eighth more parts than needed, so that this is rare.
func (t *table) share(at instant) {
	if t.need() <= t.parts {
		return
	}
	t.evict()
	t.parts = t.need() * 9 / 8
	left := t.bytes - entryBytes*(len(t.models)+len(t.variants))
	t.unit = max(0, left/pointBytes/t.parts)
	for _, m := range t.models {
		for i := range m.columns {
			m.columns[i].fit(t.modelLimit(i), at, t.span)
		}
	}
	for _, v := range t.variants {
		for i := range v.columns {
			v.columns[i].fit(t.variantLimit(i), at, t.span)
		}
	}
}

func (t *table) modelLimit(column int) int   { return max(least, t.unit*modelParts[column]) }
func (t *table) variantLimit(column int) int { return max(least, t.unit*variantParts[column]) }

func (t *table) addModel(m *modelSeries, at instant, values *[modelColumns]float64) {
	for i := range m.columns {
		m.columns[i].add(at, float32(values[i]), t.modelLimit(i), t.span)
	}
}

func (t *table) addVariant(v *variantSeries, at instant, values *[variantColumns]float64) {
	for i := range v.columns {
		v.columns[i].add(at, float32(values[i]), t.variantLimit(i), t.span)
	}
}

// end ends the series that the cycle at an instant does not have, and forgets those that ended
// before the span.
func (t *table) end(at instant) {
	unknownModel, unknownVariant := unknownColumns()
	for key, m := range t.models {
		switch {
		case m.seen == at:
		case !m.gone:
			m.gone = true
			t.addModel(m, at, &unknownModel)
		case at-m.seen > t.span:
			delete(t.models, key)
		}
	}
	for key, v := range t.variants {
		switch {
		case v.seen == at:
		case !v.gone:
			v.gone, v.orders = true, nil
			t.addVariant(v, at, &unknownVariant)
		case at-v.seen > t.span:
			delete(t.variants, key)
		}
	}
}

// gap makes all values unknown from an instant on, because no cycle ran.
func (t *table) gap(at instant) {
	unknownModel, unknownVariant := unknownColumns()
	for _, m := range t.models {
		t.addModel(m, at, &unknownModel)
	}
	for _, v := range t.variants {
		t.addVariant(v, at, &unknownVariant)
	}
}

// evict forgets the series that ended longest ago, where more have ended than are live: objects
// that are created and deleted in turn take no memory from those that stay.
func (t *table) evict() {
	var models []*modelSeries
	for _, m := range t.models {
		if m.gone {
			models = append(models, m)
		}
	}
	slices.SortFunc(models, func(a, b *modelSeries) int { return cmp.Or(cmp.Compare(a.seen, b.seen), a.key.Compare(b.key)) })
	for len(models) > max(fewest, len(t.models)-len(models)) {
		delete(t.models, models[0].key)
		models = models[1:]
	}
	var variants []*variantSeries
	for _, v := range t.variants {
		if v.gone {
			variants = append(variants, v)
		}
	}
	slices.SortFunc(variants, func(a, b *variantSeries) int { return cmp.Or(cmp.Compare(a.seen, b.seen), a.key.Compare(b.key)) })
	for len(variants) > max(fewest, len(t.variants)-len(variants)) {
		delete(t.variants, variants[0].key)
		variants = variants[1:]
	}
}

// fewest is how many ended models, and ended variants, are always kept.
const fewest = 32

// of returns the variants of a model, by key.
func (t *table) of(model scaling.ModelKey) []*variantSeries {
	var out []*variantSeries
	for v := range maps.Values(t.variants) {
		if v.model == model {
			out = append(out, v)
		}
	}
	slices.SortFunc(out, func(a, b *variantSeries) int { return a.key.Compare(b.key) })
	return out
}

// size returns the bytes of the points and of their entries.
func (t *table) size() int {
	sum := entryBytes * (len(t.models) + len(t.variants))
	for _, m := range t.models {
		for i := range m.columns {
			sum += pointBytes * cap(m.columns[i].points)
		}
	}
	for _, v := range t.variants {
		for i := range v.columns {
			sum += pointBytes * cap(v.columns[i].points)
		}
	}
	return sum
}
