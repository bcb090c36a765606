package stock

import "testing"

func TestShortName(t *testing.T) {
	tests := map[string]string{
		"NVIDIA-A100-PCIE-80GB": "A100", // the published inventory's rule and samples
		"NVIDIA-H100-80GB-HBM3": "H100",
		"AMD-MI300X-192GB":      "MI300X",
		"Intel-Gaudi-2-96GB":    "Gaudi-2",
		"Intel-Gaudi":           "Gaudi",
		"Tesla-T4":              "T4",
		"AMD_Radeon_PRO_W7900":  "W7900",
		"nvidia-l4":             "L4",
		"nvidia-h100-80gb":      "H100",
		"nvidia-tesla-a100":     "A100",
		"L40S":                  "L40S",
		"nvidia":                "NVIDIA",
	}
	for product, want := range tests {
		if got := shortName(product); got != want {
			t.Errorf("%s: got %q, want %q", product, got, want)
		}
	}
}
