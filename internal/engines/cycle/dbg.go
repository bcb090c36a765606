package cycle

import (
	"fmt"
	"os"
)

var dbgOn = os.Getenv("DBG") != ""

func dbg(c Case, v Verdict) {
	if !dbgOn {
		return
	}
	for _, a := range v.Analyses {
		fmt.Fprintf(os.Stderr, "%s %s %s sig=%v dem=%.4g sup=%.4g ant=%.4g %v: %s\n", c.Now.UTC().Format("15:04:05"), a.Model, a.Analyzer, a.Signal, a.Demand, a.Supply, a.Anticipated, a.Reason, a.Detail)
		for _, x := range a.Variants {
			fmt.Fprintf(os.Stderr, "      %s per=%.4g util=%.2f %s\n", x.Variant.Name, x.PerReplica, x.Utilization, x.Source)
		}
	}
	for _, d := range v.Plan.Decisions {
		fmt.Fprintf(os.Stderr, "   -> %s cur=%d target=%d", d.Variant.Name, d.Current, d.Target())
		for _, s := range d.Steps {
			fmt.Fprintf(os.Stderr, " [%v %d->%d %v %s]", s.Stage, s.From, s.To, s.Reason, s.Detail)
		}
		fmt.Fprintln(os.Stderr)
	}
}
