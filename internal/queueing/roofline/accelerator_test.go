package roofline

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestAcceleratorsAreFoundAsLabelsNameThem(t *testing.T) {
	for name, want := range map[string]string{
		"NVIDIA-H100-80GB-HBM3": "H100", "h100": "H100", "H100 PCIe": "H100-PCIE", "NVIDIA-H100-NVL": "H100-NVL", "nvidia-h100-mega-80gb": "H100",
		"NVIDIA-H200": "H200", "NVIDIA-GH200-480GB": "GH200", "NVIDIA-GB200": "GB200", "B200": "B200",
		"A100": "A100", "A100-80": "A100", "NVIDIA-A100-SXM4-80GB": "A100", "NVIDIA-A100-SXM4-40GB": "A100-40GB", "NVIDIA-A100-PCIE-80GB": "A100-PCIE-80GB",
		"nvidia-l4": "L4", "L40": "L40", "NVIDIA-L40S": "L40S", "NVIDIA-A10": "A10", "a10g": "A10G", "NVIDIA-A10G": "A10G",
		"Tesla-T4": "T4", "nvidia-tesla-v100": "V100", "Tesla-V100-SXM2-32GB": "V100-32GB", "NVIDIA-GeForce-RTX-4090": "RTX-4090", "rtx4090": "RTX-4090",
		"AMD_Instinct_MI300X_OAM": "MI300X", "mi325x": "MI325X", "MI250": "MI250", "MI250X": "MI250X", "AMD-Instinct-MI210": "MI210",
		"Gaudi2": "Gaudi-2", "Gaudi-3": "Gaudi-3", "Intel-Gaudi-2-96GB": "Gaudi-2", "tpu-v5-lite-podslice": "TPU-v5-lite", "tpu-v6e-slice": "TPU-v6e", "TPU v5p": "TPU-v5p",
	} {
		if got, ok := ByName(name); !ok || got.Name != want {
			t.Errorf("%s is taken for %q, want %s", name, got.Name, want)
		}
	}
	for _, name := range []string{"", "G2", "cpu", "A1000", "NVIDIA-A100-SXM4-80GB-MIG-3g.40gb", "NVIDIA-H100-80GB-HBM3-SHARED", "100", "RTX"} {
		if got, ok := ByName(name); ok {
			t.Errorf("%q is taken for %s, want that it is not known", name, got.Name)
		}
	}
}

// TestDataSheetsAreWithinReason: accelerators of 2016 to 2025 read their whole memory in 12 to 130
// ms, and compute 25 to 800 operations for each byte that they read.
func TestDataSheetsAreWithinReason(t *testing.T) {
	seen := map[string]bool{}
	for _, a := range accelerators {
		if seen[a.Name] {
			t.Errorf("%s is there twice", a.Name)
		}
		seen[a.Name] = true
		if whole := 1000 * a.Memory / a.Bandwidth; whole < 12 || whole > 130 {
			t.Errorf("%s reads its memory in %.0f ms", a.Name, whole)
		}
		if each := 1000 * a.Compute / a.Bandwidth; each < 25 || each > 800 {
			t.Errorf("%s computes %.0f operations for each byte that it reads", a.Name, each)
		}
		if got, ok := ByName(a.Name); !ok || got != a {
			t.Errorf("%s is taken for %q", a.Name, got.Name)
		}
	}
}

// TestTheDocumentHasTheTable: users read in it which accelerators are known.
func TestTheDocumentHasTheTable(t *testing.T) {
	const file = "../../../docs/user-guide/objectives.md"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range accelerators {
		if row := fmt.Sprintf("| %s | %g | %g | %g |\n", a.Name, a.Memory, a.Bandwidth, a.Compute); !strings.Contains(string(text), row) {
			t.Errorf("%s lacks the row %s", file, row)
		}
	}
	if got, want := strings.Count(string(text), " GB/s | "), 1; got != want {
		t.Errorf("%s has %d tables of accelerators, want %d", file, got, want)
	}
}
