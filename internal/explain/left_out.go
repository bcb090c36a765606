package explain

import (
	"fmt"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/budget"
)

// PagesLeftOut says that metrics pages of pods of a namespace are not kept, because they exceed
// limit.
func PagesLeftOut(w budget.What, limit int) string {
	unit := "series"
	if w == budget.PageBytes {
		unit = "bytes"
	}
	return fmt.Sprintf("The metrics pages of the pods of this namespace hold more than %d %s together: of some pods the pages are not kept, "+
		"and the models of these count as without metrics. Export fewer series, or ask who operates the manager to raise %s", limit, unit, w.Setting())
}

// EventsLeftOut says that events of a namespace are not sent, because it had more than perHour
// within an hour.
func EventsLeftOut(perHour int) string {
	return fmt.Sprintf("Events about objects of this namespace are more than %d within an hour: further ones are not sent for now; "+
		"conditions say what is. Ask who operates the manager to raise %s if that is too few", perHour, budget.Events.Setting())
}
