package saturation

// TokenThresholds holds the thresholds of the token capacity analysis. The zero
// value is not usable; see DefaultTokens.
type TokenThresholds struct {
	// KVCacheThreshold is the largest used part of the KV cache of a replica, a ratio in (0, 1].
	KVCacheThreshold float64 `json:"kvCacheThreshold"`
	// QueueLengthThreshold is the queue length from which on a replica counts as full, whatever it
	// holds, in requests, >= 1.
	QueueLengthThreshold float64 `json:"queueLengthThreshold"`
	// ScaleUpThreshold is the utilization above which the model grows. ScaleDownBoundary is the
	// largest utilization of the replicas that stay after a reduction. Both are ratios in (0, 1],
	// the first the larger one.
	ScaleUpThreshold  float64 `json:"scaleUpThreshold"`
	ScaleDownBoundary float64 `json:"scaleDownBoundary"`
}

// DefaultTokens returns the published defaults: 0.80, 5, 0.85 and 0.70.
func DefaultTokens() TokenThresholds {
	return TokenThresholds{KVCacheThreshold: 0.80, QueueLengthThreshold: 5, ScaleUpThreshold: 0.85, ScaleDownBoundary: 0.70}
}
