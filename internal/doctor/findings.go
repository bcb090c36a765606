package doctor

import (
	"fmt"
	"slices"
	"strings"
)

// Code is the stable name of a finding, such as WVA0601: the first two digits are the stage, the
// last two the finding.
type Code string

// Stage is a part of the way of a decision.
type Stage int

// The stages, in the order of the way.
const (
	StageInstallation Stage = 1 + iota
	StageObjects
	StagePrometheus
	StageMetrics
	StageDecision
	StageScaler
	StageTarget
	StageNetwork
	StageProbe
)

// stageTitles are the titles of the stages, by stage.
var stageTitles = [...]string{
	StageInstallation: "installation", StageObjects: "objects", StagePrometheus: "Prometheus", StageMetrics: "metrics of the model",
	StageDecision: "decision", StageScaler: "scaler", StageTarget: "target", StageNetwork: "network", StageProbe: "probe",
}

// Stages returns all stages, in the order of the way.
func Stages() []Stage {
	return []Stage{StageInstallation, StageObjects, StagePrometheus, StageMetrics, StageDecision, StageScaler, StageTarget, StageNetwork, StageProbe}
}

// String returns the title of the stage.
func (s Stage) String() string {
	if s < StageInstallation || s > StageProbe {
		return fmt.Sprintf("stage %d", int(s))
	}
	return stageTitles[s]
}

// Entry is a row of the table of findings.
type Entry struct {
	Code     Code
	Name     string // of the finding, in lower case with dashes
	Sentence string // what is wrong
	Means    string // what follows from it
	Seen     string // what is evidence
	// Mend is a command that mends it, or leads there. Words in capitals are replaced by the names
	// of the case: NAMESPACE, NAME, TARGET, SYSTEM and those that the check adds.
	Mend string
	// Advice says what to do where no command does.
	Advice string
	// Related are the condition with its reason, the event or the alert by which the manager names
	// the same: "ScalerFollowing NoScaler", "event Limited", "alert WVAInert".
	Related []string
	// Behind are the findings that explain this one: where one of them is found, of the same variant
	// or of all, this one is left out.
	Behind []Code
}

// Stage returns the stage of the finding.
func (e Entry) Stage() Stage { return e.Code.stage() }

func (c Code) stage() Stage {
	if len(c) != len("WVA0000") {
		return 0
	}
	return Stage(10*int(c[3]-'0') + int(c[4]-'0'))
}

// pages is where the documentation of a release is read.
const pages = "https://github.com/llm-d-incubation/workload-variant-autoscaler/blob/main/docs/reference/findings.md"

// Page returns the address of the page of the finding.
func (c Code) Page() string { return pages + "#" + strings.ToLower(string(c)) }

// Table returns every finding, sorted by code.
func Table() []Entry { return slices.Clone(table) }

// Known reports whether a code is one of the table.
func Known(code Code) bool {
	return slices.ContainsFunc(table, func(e Entry) bool { return e.Code == code })
}

// entry returns the row of a code. A code without a row is a mistake in this package.
func entry(code Code) Entry {
	i := slices.IndexFunc(table, func(e Entry) bool { return e.Code == code })
	if i < 0 {
		panic("doctor: there is no finding " + string(code))
	}
	return table[i]
}

// table is the list of findings: that of the installation, then that of the variants.
var table = slices.Concat(installationTable, objectsTable, metricsTable, scalerTable, targetTable, probeTable)
