package lab

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
)

// WriteCSV writes one line for each scenario and policy: mean, standard error, minimum and maximum
// of every measure over the seeds.
func (r Results) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	header := []string{"scenario", "workload", "policy", "own", "target_ratio", "seeds"}
	for _, q := range quantities() {
		header = append(header, q, q+"_error", q+"_min", q+"_max")
	}
	lines := [][]string{header}
	for _, s := range r.Scenarios {
		for _, row := range s.Rows {
			line := []string{s.Scenario, s.Workload, row.Policy.String(), strconv.FormatBool(row.Own), decimal(s.Target), strconv.Itoa(len(row.Runs))}
			for _, m := range row.Measures.fields() {
				line = append(line, decimal(m.Mean), decimal(m.Error), decimal(m.Min), decimal(m.Max))
			}
			lines = append(lines, line)
		}
	}
	if err := out.WriteAll(lines); err != nil {
		return fmt.Errorf("writing the results as CSV: %w", err)
	}
	return nil
}

func decimal(v float64) string { return strconv.FormatFloat(v, 'g', 8, 64) }
