package dashboard

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
)

// Dashboard is a dashboard as Grafana exports it.
type Dashboard struct {
	UID         string  `json:"uid"`
	Title       string  `json:"title"`
	Description string  `json:"description"`
	Panels      []Panel `json:"panels"`
	Templating  struct {
		List []Variable `json:"list"`
	} `json:"templating"`
}

// Panel is one panel of a dashboard.
type Panel struct {
	ID              int      `json:"id"`
	Type            string   `json:"type"`
	Title           string   `json:"title"`
	Description     string   `json:"description"`
	Grid            Grid     `json:"gridPos"`
	Targets         []Target `json:"targets"`
	Transformations []struct {
		ID      string   `json:"id"`
		Options Organize `json:"options"`
	} `json:"transformations"`
	FieldConfig struct {
		Defaults  Field      `json:"defaults"`
		Overrides []Override `json:"overrides"`
	} `json:"fieldConfig"`
}

// Grid is the place of a panel, in the units of Grafana's grid of 24 columns.
type Grid struct{ X, Y, W, H int }

// Target is one query of a panel.
type Target struct {
	RefID   string `json:"refId"`
	Expr    string `json:"expr"`
	Legend  string `json:"legendFormat"`
	Instant bool   `json:"instant"`
	Format  string `json:"format"` // table, or empty
}

// Field is how values are shown.
type Field struct {
	Unit       string    `json:"unit"`
	NoValue    string    `json:"noValue"` // in place of a panel without data
	Decimals   *int      `json:"decimals"`
	Min        *float64  `json:"min"`
	Max        *float64  `json:"max"`
	Mappings   []Mapping `json:"mappings"`
	Thresholds struct {
		Steps []Threshold `json:"steps"`
	} `json:"thresholds"`
	Custom struct {
		DrawStyle         string `json:"drawStyle"`         // line, or bars
		LineInterpolation string `json:"lineInterpolation"` // linear, or stepAfter
		FillOpacity       int    `json:"fillOpacity"`       // percent
		ThresholdsStyle   struct {
			Mode string `json:"mode"` // off, or dashed
		} `json:"thresholdsStyle"`
	} `json:"custom"`
}

// Mapping replaces exact values by words.
type Mapping struct {
	Type    string                           `json:"type"` // value
	Options map[string]struct{ Text string } `json:"options"`
}

// Threshold is the colour from a value on; the first has no value.
type Threshold struct {
	Color string   `json:"color"`
	Value *float64 `json:"value"`
}

// Override sets properties of some series: those of a query (byFrameRefID), or a series or a column
// of a table by its name (byName).
type Override struct {
	Matcher struct {
		ID      string `json:"id"`
		Options string `json:"options"`
	} `json:"matcher"`
	Properties []struct {
		ID    string `json:"id"`
		Value any    `json:"value"`
	} `json:"properties"`
}

// Organize is the choice, the order and the names of the columns of a table.
type Organize struct {
	Exclude map[string]bool   `json:"excludeByName"`
	Index   map[string]int    `json:"indexByName"`
	Rename  map[string]string `json:"renameByName"`
}

// Variable is what a user chooses above a dashboard.
type Variable struct {
	Name       string          `json:"name"`
	Label      string          `json:"label"`
	Type       string          `json:"type"` // datasource, query or textbox
	Query      json.RawMessage `json:"query"`
	Regex      string          `json:"regex"`
	Multi      bool            `json:"multi"`
	IncludeAll bool            `json:"includeAll"`
	AllValue   string          `json:"allValue"`
}

// Read reads a dashboard from a file. A panel of an unknown type is an error.
func Read(path string) (*Dashboard, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading a dashboard: %w", err)
	}
	var d Dashboard
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, fmt.Errorf("reading the dashboard %s: %w", path, err)
	}
	for _, p := range d.Panels {
		if !slices.Contains([]string{"stat", "timeseries", "table"}, p.Type) {
			return nil, fmt.Errorf("reading the dashboard %s: panel %q is a %s; known are stat, timeseries and table", path, p.Title, p.Type)
		}
	}
	return &d, nil
}

// Pictures returns the panels in reading order.
func (d *Dashboard) Pictures() []Panel {
	out := slices.Clone(d.Panels)
	slices.SortStableFunc(out, func(a, b Panel) int {
		if a.Grid.Y != b.Grid.Y {
			return a.Grid.Y - b.Grid.Y
		}
		return a.Grid.X - b.Grid.X
	})
	return out
}

// Dashed reports whether the series of a query are drawn dashed.
func (p *Panel) Dashed(refID string) bool {
	style, ok := p.property("byFrameRefID", refID, "custom.lineStyle").(map[string]any)
	return ok && style["fill"] == "dash"
}

// Hue returns the name of the fixed colour of a series, "" for the next of the palette.
func (p *Panel) Hue(series string) string {
	color, _ := p.property("byName", series, "color").(map[string]any)
	name, _ := color["fixedColor"].(string)
	return name
}

// Column returns how the values of a column of a table are shown.
func (p *Panel) Column(name string) Field {
	field := p.FieldConfig.Defaults
	if unit, ok := p.property("byName", name, "unit").(string); ok {
		field.Unit = unit
	}
	return field
}

// property returns the value that an override sets, nil if none does.
func (p *Panel) property(matcher, options, id string) any {
	for _, o := range p.FieldConfig.Overrides {
		if o.Matcher.ID != matcher || o.Matcher.Options != options {
			continue
		}
		for _, property := range o.Properties {
			if property.ID == id {
				return property.Value
			}
		}
	}
	return nil
}

// Mapped returns the words for a value, and false where there are none.
func (f Field) Mapped(v float64) (string, bool) {
	for _, m := range f.Mappings {
		if to, ok := m.Options[strconv.FormatFloat(v, 'f', -1, 64)]; ok && m.Type == "value" {
			return to.Text, true
		}
	}
	return "", false
}

// Color returns the name of the colour of a value, "text" where there is none.
func (f Field) Color(v float64) string {
	color := "text"
	for _, step := range f.Thresholds.Steps {
		if step.Value == nil || v >= *step.Value {
			color = step.Color
		}
	}
	return color
}
