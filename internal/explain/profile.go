package explain

import (
	"fmt"
	"strings"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// ProfileMissing says that a variant has no profile for an engine that sizes by
// one, that too little was seen of its replicas to learn it, and why none is computed.
func ProfileMissing(v scaling.Variant, engine string, why error) string {
	return fmt.Sprintf("Engine %q sizes by profiles, and the variant has none yet: one is learned in three minutes in which its replicas serve and no queue stands; "+
		"none is computed until then: %s; "+
		"to state one, want spec.variantProfile.perfParms with decodeParms (alpha, beta) and prefillParms (gamma, delta), "+
		"or an entry of spec.modelProfile for %s", engine, strings.ReplaceAll(why.Error(), "\n", ", "), or(v.Accelerator, "its accelerator"))
}

// ProfileComputed says that a variant without a profile is sized by one that is computed.
func ProfileComputed(engine, computed string) string {
	return fmt.Sprintf("Every entry that concerns the variant is in force. Engine %q sizes by profiles: until the variant's is learned, "+
		"in three minutes in which its replicas serve and no queue stands, by one that is %s.", engine, computed)
}
