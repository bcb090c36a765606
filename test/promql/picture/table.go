package picture

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/llm-d-incubation/workload-variant-autoscaler/test/promql/dashboard"
)

// record is a row of a table, with the labels and, as "Value #A", the value of query A, by the
// names of the columns before they are renamed.
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

// agree reports whether two sets of labels have equal values where both have the label.
func agree(a, b map[string]string) bool {
	for name, v := range a {
		if w, ok := b[name]; ok && v != w {
			return false
		}
	}
	return true
}

// table draws a table of the present results of its queries.
func (c *canvas) table(b box, a dashboard.Answer) {
	const line = 26.0
	x := b.x
	for i, column := range columns(a) {
		width := b.w * column.share
		for j, text := range column.cells {
			y, class := b.y+14+float64(j)*line, "cell"
			if y > b.y+b.h {
				break
			}
			if j == 0 {
				class = ""
			} else if i == 0 {
				fmt.Fprintf(c, `<path class="grid" d="M%.1f %.1fh%.1f"/>`+"\n", b.x, y-17, b.w)
			}
			c.text(x, y, class, "start", cut(text, int(width/cellCharacter)))
		}
		x += width
	}
}

// cellCharacter is the mean width of a character of a cell, in pixels.
const cellCharacter = 6.9

// tableColumn is a column of a table: its cells, the heading first, and its share of
// the width, a ratio in (0, 1].
type tableColumn struct {
	cells []string
	share float64
}

// columns returns the columns of a table, each as wide as its longest cell.
func columns(a dashboard.Answer) []tableColumn {
	const narrow, wide, apart = 4, 28, 2 // characters
	records, organize := merge(a.Series), organization(a.Panel)
	names := shown(records, organize)
	slices.SortStableFunc(records, func(a, b record) int {
		for _, name := range names {
			if c := strings.Compare(a.labels[name], b.labels[name]); c != 0 {
				return c
			}
		}
		return 0
	})
	var out []tableColumn
	total := 0.0
	for _, name := range names {
		heading := cmp.Or(organize.Rename[name], name)
		column := tableColumn{cells: []string{heading}}
		for _, r := range records {
			column.cells = append(column.cells, r.cell(name, a.Panel.Column(heading)))
		}
		longest := narrow
		for _, text := range column.cells {
			longest = max(longest, min(wide, len([]rune(text))))
		}
		column.share = float64(longest + apart)
		total += column.share
		out = append(out, column)
	}
	for i := range out {
		out[i].share /= total
	}
	return out
}

// organization returns the panel's settings of columns.
func organization(p dashboard.Panel) dashboard.Organize {
	for _, t := range p.Transformations {
		if t.ID == "organize" {
			return t.Options
		}
	}
	return dashboard.Organize{}
}

// shown returns the names of the visible columns, in order.
func shown(records []record, organize dashboard.Organize) []string {
	names := map[string]bool{}
	for _, r := range records {
		for name := range r.labels {
			names[name] = true
		}
		for name := range r.values {
			names[name] = true
		}
	}
	maps.DeleteFunc(names, func(name string, _ bool) bool { return organize.Exclude[name] })
	return slices.SortedFunc(maps.Keys(names), func(a, b string) int {
		return cmp.Or(organize.Index[a]-organize.Index[b], strings.Compare(a, b))
	})
}

// cell returns the text of a column.
func (r record) cell(name string, field dashboard.Field) string {
	if v, has := r.values[name]; has {
		return number(v, field.Unit, field.Decimals)
	}
	if text, has := r.labels[name]; has {
		return text
	}
	return "–"
}
