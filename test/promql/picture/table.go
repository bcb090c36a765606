package picture

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/llm-d-incubation/workload-variant-autoscaler/test/promql/dashboard"
)

// record is a row of a table: by the names that the columns have before they are
// renamed, labels and, as "Value #A", the value of query A.
type record struct {
	labels map[string]string
	values map[string]float64
}

// merge joins rows whose common labels are equal, as Grafana's transformation does.
func merge(series []dashboard.Series) []record {
	var out []record
next:
	for _, s := range series {
		labels := map[string]string{}
		for name, v := range s.Labels {
			labels[string(name)] = string(v)
		}
		column := "Value #" + s.RefID
		for _, r := range out {
			if _, has := r.values[column]; !has && agree(r.labels, labels) {
				maps.Copy(r.labels, labels)
				r.values[column] = s.Last()
				continue next
			}
		}
		out = append(out, record{labels, map[string]float64{column: s.Last()}})
	}
	return out
}

// agree reports whether two sets of labels have equal values where both have any.
func agree(a, b map[string]string) bool {
	for name, v := range a {
		if w, ok := b[name]; ok && v != w {
			return false
		}
	}
	return true
}

// table draws a table of what its queries return now.
func (c *canvas) table(b box, a dashboard.Answer) {
	records := merge(a.Series)
	organize := dashboard.Organize{}
	for _, t := range a.Panel.Transformations {
		if t.ID == "organize" {
			organize = t.Options
		}
	}
	names := map[string]bool{}
	for _, r := range records {
		for name := range r.labels {
			names[name] = true
		}
		for name := range r.values {
			names[name] = true
		}
	}
	columns := slices.SortedFunc(maps.Keys(names), func(a, b string) int {
		return cmp.Or(organize.Index[a]-organize.Index[b], strings.Compare(a, b))
	})
	columns = slices.DeleteFunc(columns, func(name string) bool { return organize.Exclude[name] })
	slices.SortStableFunc(records, func(a, b record) int {
		for _, name := range columns {
			if c := strings.Compare(a.labels[name], b.labels[name]); c != 0 {
				return c
			}
		}
		return 0
	})
	width := b.w / float64(len(columns))
	const line = 26.0
	for i, name := range columns {
		title := cmp.Or(organize.Rename[name], name)
		field := a.Panel.Column(title)
		x := b.x + float64(i)*width
		c.text(x, b.y+14, "", "start", title)
		for j, r := range records {
			y := b.y + 14 + float64(j+1)*line
			if y > b.y+b.h {
				break
			}
			text, ok := r.labels[name]
			if v, has := r.values[name]; has {
				text, ok = number(v, field.Unit, field.Decimals), true
			}
			if !ok {
				text = "–"
			}
			c.text(x, y, "cell", "start", cut(text, int(width/6.6)))
			if i == 0 {
				fmt.Fprintf(c, `<path class="grid" d="M%.1f %.1fh%.1f"/>`+"\n", b.x, y-17, b.w)
			}
		}
	}
}
