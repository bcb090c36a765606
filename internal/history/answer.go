package history

import (
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

const (
	// DefaultPoints is the largest number of rows of an answer where the caller gives none.
	DefaultPoints = 600
	// MostPoints is the largest number of rows of an answer.
	MostPoints = 4000
	// mostDecisions is the largest number of decisions of an answer.
	mostDecisions = 500
)

// Model returns the history of a model between two times, in at most points rows; false where the
// model is not known. The zero time means the beginning of the history, or its end. points is
// limited to 10 to MostPoints; 0 means DefaultPoints.
func (h *History) Model(key scaling.ModelKey, from, to time.Time, points int) (ModelHistory, bool) {
	present := h.present(key)
	h.mu.RLock()
	defer h.mu.RUnlock()
	m := h.table.models[key]
	if m == nil {
		return ModelHistory{}, false
	}
	if points == 0 {
		points = DefaultPoints
	}
	points = max(10, min(points, MostPoints))
	begin, end := h.between(from, to)
	begins := max(h.begins, m.begins)
	out := ModelHistory{
		Model: present, From: h.time(begin), To: h.time(end), Complete: begin >= h.begins, Begins: h.time(begins),
		Variants: []VariantHistory{}, Decisions: []Change{},
	}
	variants := h.table.of(key)
	take := h.rows(m, variants, max(begin, begins), end, points)
	out.T, out.Step = make([]Time, len(take.at)), take.step
	for i, at := range take.at {
		out.T[i] = h.time(at)
	}
	for column, to := range map[int]*Column{
		load: &out.Load, utilization: &out.Utilization, waiting: &out.Waiting, ttft: &out.TTFT, itl: &out.ITL, missed: &out.Missed, cost: &out.Cost,
	} {
		*to = take.of(&m.columns[column])
	}
	for _, v := range variants {
		out.Variants = append(out.Variants, VariantHistory{
			Namespace: v.key.Namespace, Name: v.key.Name, Desired: take.of(&v.columns[desired]), Current: take.of(&v.columns[current]),
			Ready: take.of(&v.columns[ready]), Serving: take.of(&v.columns[serving]), Draining: take.of(&v.columns[draining]),
		})
	}
	for at, c := range h.changes.of(key.Namespace) {
		if c.model == key && at >= begin && at <= end {
			out.Decisions = append(out.Decisions, h.told(at, c))
		}
	}
	if out.Left = max(0, len(out.Decisions)-mostDecisions); out.Left > 0 {
		out.Decisions = out.Decisions[out.Left:]
	}
	return out, true
}

// present returns a model as of the last cycle; only its names where that cycle does not have it.
func (h *History) present(key scaling.ModelKey) Model {
	h.mu.RLock()
	c := h.last
	h.mu.RUnlock()
	for i := range c.Snapshots {
		if s := &c.Snapshots[i]; s.Model == key {
			return h.modelOf(c, s, decisionsOf(c.Plan)[key])
		}
	}
	return Model{
		Namespace: key.Namespace, Model: key.ID, Objective: objectiveOf(scaling.Objective{}), Load: Unknown(), Waiting: Unknown(),
		TTFT: Unknown(), ITL: Unknown(), Missed: Unknown(), Cost: Unknown(), Troubles: []string{"The last cycle has no variant of the model"}, Variants: []Variant{},
	}
}

// rows are the times of the rows of an answer.
type rows struct {
	at    []instant
	step  float64 // s; 0 where each row is a cycle
	from  instant
	width instant // of the periods, two rows each
	n     int     // number of periods
	end   instant
}

// rows returns the cycles between two instants where they are few enough and no series of the model
// was thinned there. Else it returns two rows for each of equally long periods, and the end.
func (h *History) rows(m *modelSeries, variants []*variantSeries, begin, end instant, points int) rows {
	if cycles := h.cyclesBetween(begin, end); len(cycles) <= points && begin >= h.cycles[0] && begin >= fineFrom(m, variants) {
		return rows{at: cycles}
	}
	width := max(1, (end-begin)/instant((points-1)/2)+1)
	if begin < fineFrom(m, variants) {
		width = max(width, thinned(h.table.modelLimit(load), min(h.now-m.begins, h.table.span)))
	}
	out := rows{from: begin, width: width, end: end, n: int((end - begin + width - 1) / width), step: float64(width) / float64(second)}
	for i := range out.n {
		at := begin + instant(i)*width
		out.at = append(out.at, at, at+min(width, end-at)/2)
	}
	out.at = append(out.at, end)
	return out
}

func (r rows) of(s *series) Column {
	if r.step == 0 {
		return s.rows(r.at)
	}
	return s.pairs(r.from, r.width, r.n, r.end)
}

func fineFrom(m *modelSeries, variants []*variantSeries) instant {
	from := instant(0)
	for i := range m.columns {
		from = max(from, m.columns[i].fine)
	}
	for _, v := range variants {
		for i := range v.columns {
			from = max(from, v.columns[i].fine)
		}
	}
	return from
}

// cyclesBetween returns the times of the cycles between two instants.
func (h *History) cyclesBetween(begin, end instant) []instant {
	var out []instant
	for _, at := range h.cycles {
		if at >= begin && at <= end {
			out = append(out, at)
		}
	}
	return out
}
