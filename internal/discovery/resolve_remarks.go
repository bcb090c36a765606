package discovery

import (
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// remarks logs, once for each object, what its owner may want to change but need not. The zero
// value has logged nothing. It is safe for concurrent use.
type remarks struct {
	mu   sync.Mutex
	said map[scaling.VariantKey]remark
}

// remark is what there is to log about one object.
type remark struct {
	uid   types.UID // a remark on a recreated object is logged again
	name  string    // the suggested name, "" for none
	owner string    // the Deployment that an older version made its owner, "" for none
}

// say logs the remarks on these objects that have not been logged yet, and forgets other objects.
func (r *remarks) say(log logr.Logger, vas []v1alpha1.VariantAutoscaling) {
	r.mu.Lock()
	defer r.mu.Unlock()
	said := make(map[scaling.VariantKey]remark, len(vas))
	for i := range vas {
		va := &vas[i]
		key, now := keyOf(va), remarkOn(va)
		before := r.said[key]
		said[key] = now
		log := log.WithValues("namespace", key.Namespace, "variant", key.Name)
		if now.name != "" && (before.uid != now.uid || before.name != now.name) {
			log.Info("the name differs from the one that the variantID suggests", "suggestion", now.name)
		}
		if now.owner != "" && (before.uid != now.uid || before.owner != now.owner) {
			log.Info("an older version made the Deployment owner of this object, which is deleted with it; wva migrate undoes that", "owner", now.owner)
		}
	}
	r.said = said
}

func remarkOn(va *v1alpha1.VariantAutoscaling) remark {
	out := remark{uid: va.UID, name: suggestion(va.Name, va.Spec.VariantID)}
	for _, ref := range va.OwnerReferences {
		if v1alpha1.LegacyOwner(ref) {
			out.owner = ref.Name
		}
	}
	return out
}
