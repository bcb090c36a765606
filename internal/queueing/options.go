package queueing

// Options say for which part of the requests an objective holds. The zero value means the mean of
// both latencies.
type Options struct {
	// TTFTPercentile and ITLPercentile are the shares of the requests that keep
	// their objective, ratios in [0, 1); 0 is the mean.
	TTFTPercentile float64 `json:"ttftPercentile"`
	ITLPercentile  float64 `json:"itlPercentile"`
}

// Default returns the documented options: TTFT at percentile 0.9, and the mean ITL.
func Default() Options { return Options{TTFTPercentile: 0.90} }
