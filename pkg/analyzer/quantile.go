package analyzer

// split returns the sums of T_0 .. T_(at-1) and T_at .. T_(N-1), and T_N, relative to the likeliest
// state and without negligible terms. at is less than N.
func (s states) split(arrival float64, at int) (below, above, last float64) {
	n, mode := len(s.rate), s.mode(arrival)
	t, perArrival := 1.0, 1/arrival
	for i := mode - 1; i >= 0 && t > negligible; i-- {
		t *= s.rate[i] * perArrival
		if i < at {
			below += t
		} else {
			above += t
		}
	}
	t = 1
	for i := mode; i < n && t > negligible; i++ {
		if i < at {
			below += t
		} else {
			above += t
		}
		t *= arrival * s.inverse[i]
	}
	if t <= negligible {
		t = 0
	}
	return below, above, t
}

// quantile returns the least state below N above which the weight is at most exceeding. behind is
// the weight of the accepting states from N on, less than exceeding. Weights are relative to the
// likeliest state.
func (s states) quantile(arrival, behind, exceeding float64) int {
	n, mode := len(s.rate), s.mode(arrival)
	if mode == n {
		mode-- // the likeliest state is N: begin below it
		return s.quantileBelow(arrival, mode, s.rate[mode]/arrival, behind, exceeding)
	}
	above, t := behind, 1.0
	for i := mode; i < n-1; i++ {
		t *= arrival * s.inverse[i]
		above += t
	}
	if above <= exceeding {
		return s.quantileBelow(arrival, mode, 1, above, exceeding)
	}
	t = 1
	for i := mode; i < n-1; i++ {
		t *= arrival * s.inverse[i]
		if above -= t; above <= exceeding {
			return i + 1
		}
	}
	return n - 1
}

// quantileBelow goes down from state, of weight t, and returns the first state from which on the
// weight upwards exceeds exceeding; above is the weight above state.
func (s states) quantileBelow(arrival float64, state int, t, above, exceeding float64) int {
	for perArrival := 1 / arrival; state > 0; state-- {
		if above += t; above > exceeding {
			return state
		}
		t *= s.rate[state-1] * perArrival
	}
	return 0
}
