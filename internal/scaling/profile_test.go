package scaling

import "testing"

func TestTheBatchIsThatOfTheArgumentsAndSizedByTheSmaller(t *testing.T) {
	for _, tt := range []struct{ stated, allowed, most, sized int }{
		{0, 0, 0, 0},
		{64, 0, 64, 64},
		{0, 128, 128, 128},
		{64, 128, 128, 64},
		{128, 64, 64, 64},
		{-1, 32, 32, 32},
		{2 * MostBatch, 0, MostBatch, MostBatch},
		{0, 2 * MostBatch, MostBatch, MostBatch},
	} {
		v := Variant{Profile: Profile{MaxBatchSize: tt.stated}, Limits: EngineLimits{MaxBatch: tt.allowed}}
		if most, sized := v.MaxBatch(), v.SizedBatch(); most != tt.most || sized != tt.sized {
			t.Errorf("profile %d, arguments %d: %d and %d, want %d and %d", tt.stated, tt.allowed, most, sized, tt.most, tt.sized)
		}
	}
}

func TestABatchThatIsNotStatedIsTheDefaultOfEngines(t *testing.T) {
	for stated, want := range map[int]int{-1: DefaultBatch, 0: DefaultBatch, 1: 1, 64: 64, MostBatch: MostBatch, MostBatch + 1: MostBatch} {
		if got := (Profile{MaxBatchSize: stated}).Batch(); got != want {
			t.Errorf("stated %d: got %d, want %d", stated, got, want)
		}
	}
}
