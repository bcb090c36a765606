package saturation

// Thresholds holds the thresholds of one model. The zero value is not usable; see
// Default.
type Thresholds struct {
	// KVCacheThreshold is the KV cache usage from which a replica counts as
	// saturated, a ratio in [0, 1].
	KVCacheThreshold float64 `json:"kvCacheThreshold"`
	// QueueLengthThreshold is the same for waiting requests, >= 0.
	QueueLengthThreshold float64 `json:"queueLengthThreshold"`
	// KVSpareTrigger is the mean KV spare below which a replica is added, a
	// ratio in [0, KVCacheThreshold].
	KVSpareTrigger float64 `json:"kvSpareTrigger"`
	// QueueSpareTrigger is the same for the queue, in requests, >= 0.
	QueueSpareTrigger float64 `json:"queueSpareTrigger"`
}

// Default returns the published defaults: 0.80, 5, 0.1 and 3.
func Default() Thresholds {
	return Thresholds{KVCacheThreshold: 0.80, QueueLengthThreshold: 5, KVSpareTrigger: 0.1, QueueSpareTrigger: 3}
}
