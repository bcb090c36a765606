package explain

import (
	"fmt"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// ProfileMissing says that a variant has no profile for an engine that sizes by
// one, and that too little was seen of its replicas to learn it.
func ProfileMissing(v scaling.Variant, engine string) string {
	return fmt.Sprintf("Engine %q sizes by profiles, and the variant has none yet: one is learned in three minutes in which its replicas serve and no queue stands; "+
		"to state one, want spec.variantProfile.perfParms with decodeParms (alpha, beta) and prefillParms (gamma, delta), "+
		"or an entry of spec.modelProfile for %s", engine, or(v.Accelerator, "its accelerator"))
}
