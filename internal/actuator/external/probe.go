package external

import (
	"fmt"
	"slices"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/metrics"
)

// probeMost is the largest number that a probe may send, in replicas.
const probeMost = 10

// tagged parts a selector into what selects variants and the number of a probe: a selector with
// wva_probe=2 selects the variants that the rest of it selects, and is answered with 2 in place of
// each decision. The number is 0 where the selector is that of no probe.
//
// The answer depends on the query alone and is remembered nowhere, so that a probe changes no
// decision, and no other query: who may read the metrics chooses the number that is read, in the
// selector of an HPA that they could as well have given this number of replicas. Only variants that
// are published are answered about.
func tagged(selector labels.Selector) (rest labels.Selector, number int64, err error) {
	requirements, selectable := selector.Requirements()
	i := slices.IndexFunc(requirements, func(r labels.Requirement) bool { return r.Key() == metrics.LabelProbe })
	if !selectable || i < 0 {
		return selector, 0, nil
	}
	r := requirements[i]
	if values := r.ValuesUnsorted(); len(values) == 1 && slices.Contains([]selection.Operator{selection.Equals, selection.DoubleEquals, selection.In}, r.Operator()) {
		number, err = strconv.ParseInt(values[0], 10, 64)
	}
	if err != nil || number < 1 || number > probeMost {
		return nil, 0, apierrors.NewBadRequest(fmt.Sprintf("the selector has %q: want %s=N, with N from 1 to %d", r.String(), metrics.LabelProbe, probeMost))
	}
	return labels.NewSelector().Add(slices.Concat(requirements[:i], requirements[i+1:])...), number, nil
}
