package scaling

import "testing"

func TestAnHPAMayGoToZeroFromKubernetes137OnOrWhereAnObjectShowsIt(t *testing.T) {
	tests := map[string]struct {
		release    Release
		shown      bool
		known, may bool
	}{
		"1.37":                           {Release{1, 37}, false, true, true},
		"1.38":                           {Release{1, 38}, false, true, true},
		"2.0":                            {Release{2, 0}, false, true, true},
		"1.36":                           {Release{1, 36}, false, true, false},
		"1.9, of which 9 is less than 3": {Release{1, 9}, false, true, false},
		"1.36, shown":                    {Release{1, 36}, true, true, true},
		"not known":                      {Release{}, false, false, false},
		"not known, shown":               {Release{}, true, true, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			want := HPAZero{Known: tt.known, May: tt.may, Release: tt.release}
			if got := HPAZeroOf(tt.release, tt.shown); got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}

func TestAReleaseIsWrittenAsItsMajorAndMinor(t *testing.T) {
	for release, want := range map[Release]string{{}: "", {1, 37}: "1.37"} {
		if got := release.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
