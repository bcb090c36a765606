package scaling

// CostSource says where the cost of a variant comes from. The zero value is the
// default, which says nothing about the variant.
type CostSource string

// The sources of a cost.
const (
	CostDefault  CostSource = ""            // no source names one
	CostVariant  CostSource = "variantCost" // the variant names its own
	CostUnitCost CostSource = "unitCost"    // the price of its accelerator, times the accelerators of a replica
)

// Comparable reports whether the costs of two variants say which one is
// cheaper: both come from one source, and that is not the default.
func (s CostSource) Comparable(other CostSource) bool {
	return s == other && s != CostDefault
}
