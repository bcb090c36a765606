package doctor

import (
	"fmt"
	"slices"
	"strings"
)

// Code is the stable name of a finding, such as WVA0601: the first two digits are its stage, the
// last two its number there.
type Code string

// Stage is one part of the path of a decision.
type Stage int

// The stages, in the order in which a decision passes them.
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

// Stages returns all stages, in the order in which a decision passes them.
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
	Seen     string // what shows it
	// Mend is a command that mends it, or helps to. Names of the case replace its words in
	// capitals: NAMESPACE, NAME, TARGET, SYSTEM and others that the check adds.
	Mend string
	// Advice says what to do beside the command.
	Advice string
	// Related are the condition and its reason, the event or the alert by which the manager reports
	// the same: "ScalerFollowing NoScaler", "event Limited", "alert WVAInert".
	Related []string
	// Behind are the findings that explain this one. Where one of them is found, for the same
	// variant or for the installation, this one is left out.
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

// pages is the address of the documentation of all findings.
const pages = "https://github.com/llm-d-incubation/workload-variant-autoscaler/blob/main/docs/reference/findings.md"

// Page returns the address of the documentation of the finding.
func (c Code) Page() string { return pages + "#" + strings.ToLower(string(c)) }

// Table returns every finding, sorted by code.
func Table() []Entry { return slices.Clone(table) }

// Known reports whether the table has a code.
func Known(code Code) bool {
	return slices.ContainsFunc(table, func(e Entry) bool { return e.Code == code })
}

// entry returns the row of a code. It panics for a code without a row, which is a mistake in this
// package.
func entry(code Code) Entry {
	i := slices.IndexFunc(table, func(e Entry) bool { return e.Code == code })
	if i < 0 {
		panic("doctor: there is no finding " + string(code))
	}
	return table[i]
}

// table lists all findings, sorted by code.
var table = slices.Concat(installationTable, objectsTable, metricsTable, scalerTable, targetTable, probeTable)
