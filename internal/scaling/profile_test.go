package scaling

import "testing"

func TestTheBatchIsTheSmallerOfWhatTheProfileAndTheArgumentsSay(t *testing.T) {
	for _, tt := range []struct{ stated, allowed, want int }{
		{0, 0, 0}, {64, 0, 64}, {0, 128, 128}, {64, 128, 64}, {128, 64, 64}, {-1, 32, 32}, {2 * MostBatch, 0, MostBatch}, {0, 2 * MostBatch, MostBatch},
	} {
		v := Variant{Profile: Profile{MaxBatchSize: tt.stated}, Limits: EngineLimits{MaxBatch: tt.allowed}}
		if got := v.MaxBatch(); got != tt.want {
			t.Errorf("profile %d, arguments %d: %d, want %d", tt.stated, tt.allowed, got, tt.want)
		}
	}
}
