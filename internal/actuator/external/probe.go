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

// tagged splits a selector into the part that selects variants and the number of a probe. With
// wva_probe=2 the answer for each variant that the rest selects is 2 instead of its decision. The
// number is 0 for a selector without a probe.
//
// The answer depends on the query alone and is not stored, so a probe changes no decision and no
// other query. A client that may read the metrics chooses the number in the selector of an HPA,
// which it could as well have given this number of replicas. Only published variants are answered.
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
