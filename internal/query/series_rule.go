package query

// Over is the function that a recipe applies to the samples of one series.
type Over uint8

// The functions.
const (
	Last       Over = iota // the value at the last scrape
	Peak                   // the highest within the window; see Request.Aged
	Rate                   // increase of a counter per second over the window
	Growth                 // change of a gauge per second over the window
	Mean                   // Rate of Of over Rate of Per, where that is above 0
	Buckets                // Rate of each bucket of a histogram, summed by bound
	Info                   // the value is in the labels of By, the sample is always 1 (see RowOf)
	Moving                 // 1 where a series changed its value within the StuckSpan
	Idle                   // Last, of a pod that holds requests while nothing moves: see Holds and Still
	Fallen                 // how often a counter fell or its process changed within the ResetsSpan: see Resets
	NoRequests             // since when no series of Holds was above 0, and none of Still moved
)

// Series are the series of one metric on an engine's pages.
type Series struct {
	// Names are the names that the metric has had, the preferred first. Of one pod and rank the
	// first that exists counts. For Buckets it is the base name of the histogram, elsewhere the
	// full name of a series.
	Names []string
	// Without holds label values that a series must not have, as name=value.
	// A missing label is the empty value.
	Without []string
	// With holds label values that a series must have, as name=value. A missing
	// label is the empty value.
	With []string
	// By lists labels beyond the engine's identity whose values count separate things, which add
	// up. For Info it lists the labels that hold the value.
	By []string
}

// Recipe says how an engine's series make up a quantity: fold duplicates by their largest value,
// add up the series of Of and then the ranks (or take the worst rank), per pod or per model as the
// quantity's Scope says, and multiply by Scale. Duplicates are series that agree in namespace, pod,
// model, the engine's Ranks and By.
type Recipe struct {
	Over Over
	Of   []Series // addends; one that a pod lacks adds nothing
	Per  Series   // of Mean: the divisor of Of; the twins of a histogram pair with those of Of[0]
	// Worst takes the largest value over the ranks of a pod instead of their sum.
	Worst bool
	Scale float64 // to the unit of the quantity; 0 means 1

	// Holds and Still are the conditions of NoRequests and of Idle. With Idle a pod has a row if a
	// series of Holds is above 0 at the last scrape, one was above 0 a StuckSpan before (so that a
	// young pod, and one that just got its first request, has none), and no series of Still changed
	// its value within the StuckSpan. A missing series of Still did not change.
	Holds, Still []Series
	// Born are the counters among Still, for NoRequests, whose series begin with the first thing
	// that they count: a new one above 0 has moved.
	Born []Series
	// Began are gauges, for Fallen, that say when the process of the page began to count. They
	// differ between two processes, even where these count in step, so that no counter falls.
	Began []Series
	// Scrapes is how many scrapes of the engine's witness Idle requires within the StuckSpan; 0
	// requires none. A single sample after a gap never differs from another, so it does not show
	// that nothing moves.
	Scrapes int
}

// Factor returns Scale, and 1 where that is 0.
func (r Recipe) Factor() float64 {
	if r.Scale == 0 {
		return 1
	}
	return r.Scale
}
