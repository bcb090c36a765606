package query

// Over says what is done with the samples of one series.
type Over uint8

// The ways.
const (
	Last       Over = iota // the value at the last scrape
	Peak                   // the highest within the window; see Request.Aged
	Rate                   // increase of a counter per second over the window
	Growth                 // change of a gauge per second over the window
	Mean                   // Rate of Series over Rate of Per, where that is above 0
	Buckets                // Rate of each bucket of a histogram, summed by bound
	Info                   // the labels of By are the value, the sample is always 1 (see RowOf)
	Moving                 // 1 where a series changed its value within the StuckSpan
	Idle                   // Last, of a pod that holds requests and does not move: Holds and Still
	Fallen                 // how often a counter fell within the ResetsSpan, or was that of another process: see Resets
	NoRequests             // since when nothing of Holds was above 0, and nothing of Still moved
)

// Series are the series of one metric on an engine's pages.
type Series struct {
	// Names are the names that the metric has had, the preferred first. Of one
	// pod and rank the first that is there counts. For Buckets it is the base
	// name of the histogram, elsewhere the full name of a series.
	Names []string
	// Without holds label values that a series must not have, as name=value.
	// A missing label is the empty value.
	Without []string
	// With holds label values that a series must have, as name=value. A missing
	// label is the empty value.
	With []string
	// By lists labels beyond the engine's identity whose values count separate
	// things, which add up (of Info: which the value is read from).
	By []string
}

// Recipe says how an engine's series make up a quantity: fold duplicates by
// their largest value, add up what Of lists and then the ranks (or take the
// worst of them), per pod or per model as the quantity's Scope says, multiply by
// Scale. Duplicates are series that agree in namespace, pod, model, the engine's
// Ranks and By.
type Recipe struct {
	Over Over
	Of   []Series // addends; of a pod, one that is missing adds nothing
	Per  Series   // of Mean: what Of is divided by; of a histogram its twins pair with Of[0]'s
	// Worst takes the largest value over the ranks of a pod instead of their sum.
	Worst bool
	Scale float64 // to the unit of the quantity; 0 means 1

	// Holds and Still are the conditions of NoRequests, and of Idle. There a pod has a row if of Holds one
	// is above 0 at the last scrape and one was a StuckSpan before (so that a
	// young pod, and one that just got its first request, has none), and if no
	// series of Still changed its value within the StuckSpan. A series of Still
	// that is missing did not change.
	Holds, Still []Series
	// Born are the counters of Still, of NoRequests, whose series begin with the first
	// thing that they count: with more than 0 in it one that is new has moved.
	Born []Series
	// Began are gauges, of Fallen, that say when the process of the page began to count. Two processes
	// have two values of them, also where their counters are so alike that none falls.
	Began []Series
	// Scrapes is how many times the engine's witness must have been scraped
	// within the StuckSpan for Idle; 0 means no matter. What was hardly looked at
	// is not still: after a gap the only sample agrees with itself.
	Scrapes int
}

// Factor returns what a recipe multiplies with: Scale, and 1 where that is 0.
func (r Recipe) Factor() float64 {
	if r.Scale == 0 {
		return 1
	}
	return r.Scale
}
