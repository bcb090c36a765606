package analyzer

// PercentileTTFT returns the TTFT in ms that a share p of the requests does not exceed, at a rate
// in requests/s from 0 to the end of RateRange. p is in (0, 1): 0.9 for the 90th percentile. Errors
// are *InputError.
//
// A request that meets n others and a free place in the batch has a TTFT of FirstToken(n+1). A
// request that meets a full batch waits until n-MaxBatch+1 requests have left, each after an
// exponential time with the rate of a full batch (an Erlang distribution), and then takes
// FirstToken(MaxBatch).
func (q QueueAnalyzer) PercentileTTFT(rate, p float64) (float64, error) {
	if err := q.validateRate(rate); err != nil {
		return 0, err
	}
	if err := validateShare("p", p); err != nil {
		return 0, err
	}
	return q.percentileTTFT(q.inRange(rate)/perSecond, p), nil
}

// ShareWithinTTFT returns the share of the requests, in [0, 1], whose TTFT is at most
// ttft ms at a rate in requests/s: the inverse of PercentileTTFT. Errors are
// *InputError.
func (q QueueAnalyzer) ShareWithinTTFT(rate, ttft float64) (float64, error) {
	if err := q.validateRate(rate); err != nil {
		return 0, err
	}
	if err := notNegative("ttft", ttft); err != nil {
		return 0, err
	}
	within := q.batchesWithin(ttft, q.firstToken)
	return 1 - q.exceedingTTFT(q.inRange(rate)/perSecond, ttft, within), nil
}

// PercentileITL returns the ITL in ms that a share p of the requests does not exceed, at a rate in
// requests/s from 0 to the end of RateRange; p is in (0, 1). The ITL of a request is Decode at the
// batch that it meets on entering, itself included. Errors are *InputError.
func (q QueueAnalyzer) PercentileITL(rate, p float64) (float64, error) {
	if err := q.validateRate(rate); err != nil {
		return 0, err
	}
	if err := validateShare("p", p); err != nil {
		return 0, err
	}
	return q.percentileITL(q.inRange(rate)/perSecond, p), nil
}

func validateShare(field string, p float64) error {
	if !(p > 0 && p < 1) {
		return &InputError{Field: field, Value: p, Want: "above 0 and below 1"}
	}
	return nil
}

// percentileTTFT is PercentileTTFT at an arrival rate in requests/ms.
func (q QueueAnalyzer) percentileTTFT(arrival, p float64) float64 {
	batch, excess := q.percentileBatch(arrival, p)
	if excess == 0 {
		return q.firstToken(batch)
	}
	left := newBacklog(arrival, q.states).quantile(excess)
	return q.firstToken(batch) + left/q.states.full()
}

// percentileITL is PercentileITL at an arrival rate in requests/ms.
func (q QueueAnalyzer) percentileITL(arrival, p float64) float64 {
	batch, _ := q.percentileBatch(arrival, p)
	return q.decode(batch)
}

// percentileBatch returns the batch that a share p of the requests does not exceed on entering.
// excess is the share of the waiting requests beyond p; 0 if p covers all waiting requests.
func (q QueueAnalyzer) percentileBatch(arrival, p float64) (batch int, excess float64) {
	b := q.states.balance(arrival)
	exceeding := (1 - p) * (1 + rounding) * b.accepted
	if b.queueing <= exceeding {
		return 1 + q.states.quantile(arrival, b.queueing, exceeding), 0
	}
	return q.config.MaxBatch, exceeding / b.queueing
}

// firstToken returns FirstToken for a batch of n.
func (q QueueAnalyzer) firstToken(n int) float64 {
	return q.config.Service.FirstToken(float64(n), q.config.Size)
}

// decode returns Decode for a batch of n.
func (q QueueAnalyzer) decode(n int) float64 {
	return q.config.Service.Decode(float64(n), q.config.Size)
}

// batchesWithin returns the largest batch for which time is at most limit ms, up to rounding; 0 for
// none.
func (q QueueAnalyzer) batchesWithin(limit float64, time func(int) float64) int {
	limit *= 1 + rounding
	low, high := 0, q.config.MaxBatch
	for low < high {
		middle := (low + high + 1) / 2
		if time(middle) <= limit {
			low = middle
		} else {
			high = middle - 1
		}
	}
	return low
}

// exceedingBatch returns the share of the requests that enter a batch of more than within, at an
// arrival rate in requests/ms.
func (q QueueAnalyzer) exceedingBatch(arrival float64, within int) float64 {
	if within == q.config.MaxBatch {
		return 0
	}
	below, above, last := q.states.split(arrival, within)
	above += last * newGeometric(arrival, q.states.full(), q.states.queue).open
	return above / (below + above)
}

// exceedingTTFT returns the share of the requests whose TTFT is above ttft ms, at an arrival rate
// in requests/ms; within is the largest batch whose first token takes at most ttft.
func (q QueueAnalyzer) exceedingTTFT(arrival, ttft float64, within int) float64 {
	if within < q.config.MaxBatch {
		return q.exceedingBatch(arrival, within)
	}
	b := q.states.means(arrival)
	left := q.states.full() * max(0, ttft-q.firstToken(within)) // mean number of requests that leave in that time
	return b.queueing / b.accepted * newBacklog(arrival, q.states).beyond(left)
}
