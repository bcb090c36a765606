package explain

import (
	"fmt"
	"strings"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// ProfileMissing says that a variant has no profile although its engine sizes by profiles: too
// little was measured to learn one, and why none can be computed.
func ProfileMissing(v scaling.Variant, engine string, why error) string {
	return fmt.Sprintf("Engine %q sizes by profiles, and the variant has none yet: one is learned in three minutes in which its replicas serve and no queue stands; "+
		"none is computed until then: %s; "+
		"to state one, want spec.variantProfile.perfParms with decodeParms (alpha, beta) and prefillParms (gamma, delta), "+
		"or an entry of spec.modelProfile for %s", engine, strings.ReplaceAll(why.Error(), "\n", ", "), or(v.Accelerator, "its accelerator"))
}

// ProfileShared says that a variant without a profile is sized by measurements of equal replicas in
// another namespace.
func ProfileShared(engine string) string {
	return fmt.Sprintf("Every entry that concerns the variant is in force. Engine %q sizes by profiles: until the variant's is learned, "+
		"in three minutes in which its replicas serve and no queue stands, by what replicas of the same model, accelerators and pod template "+
		"showed in another namespace (WVA_SHARE_PROFILES).", engine)
}

// ProfileComputed says that a variant without a learned profile is sized by a computed one.
func ProfileComputed(engine, computed string) string {
	return fmt.Sprintf("Every entry that concerns the variant is in force. Engine %q sizes by profiles: until the variant's is learned, "+
		"in three minutes in which its replicas serve and no queue stands, by one that is %s.", engine, computed)
}

// moved says how far measurements moved the stated profile of the variant, and which; "" where they
// did not.
func moved(e Explanation) string {
	for _, m := range e.Sizing.Moved {
		if m.Variant != e.Variant.Key {
			continue
		}
		by := fmt.Sprintf("by %.0f windows of its replicas, with up to %.0f requests together", m.Windows, m.Together)
		if m.Windows == 0 {
			by = fmt.Sprintf("of its own replicas too little was seen, and those of %s are as far off what is stated of them", m.Like.Name)
		}
		return fmt.Sprintf("%s moved by what was measured: ITL %.3g -> %.3g ms alone, %.3g -> %.3g ms with %.0f together; "+
			"TTFT without a wait %.3g -> %.3g ms, %.3g -> %.3g ms; %s", or(m.Source, "the stated profile"),
			m.StatedAlone.ITL, m.Alone.ITL, m.StatedTogether.ITL, m.AllTogether.ITL, m.Together,
			m.StatedAlone.TTFT, m.Alone.TTFT, m.StatedTogether.TTFT, m.AllTogether.TTFT, by)
	}
	return ""
}
