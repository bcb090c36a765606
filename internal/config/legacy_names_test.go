package config

import "testing"

func TestOlderMetricNamesAreExportedOnRequest(t *testing.T) {
	tests := map[string]struct {
		args []string
		env  string
		want bool
	}{
		"by default":            {nil, "", false},
		"flag":                  {[]string{"--legacy-metric-names"}, "", true},
		"environment":           {nil, "true", true},
		"a flag comes before":   {[]string{"--legacy-metric-names=false"}, "true", false},
		"environment, declined": {nil, "false", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			o, err := parse(t, map[string]string{"LEGACY_METRIC_NAMES": tt.env}, tt.args...)
			if err != nil {
				t.Fatal(err)
			}
			if o.LegacyMetricNames != tt.want {
				t.Errorf("got %t, want %t", o.LegacyMetricNames, tt.want)
			}
		})
	}
}
