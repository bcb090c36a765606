package roofline

import (
	"slices"
	"strings"
)

// Accelerator is what one accelerator can do by its data sheet.
type Accelerator struct {
	Name      string  // as its maker has it, without spaces
	Memory    float64 // GB
	Bandwidth float64 // of the memory, GB/s
	Compute   float64 // 10^12 operations per second on dense matrices of 16 bits
}

// accelerators lists the known ones. A name that is looked up matches where it contains each part
// between dashes; of several matches the one with most words counts. Memory, bandwidth and dense
// 16-bit performance are from the public data sheets (nvidia.com/data-center, amd.com/instinct,
// habana.ai and intel.com/gaudi, cloud.google.com/tpu/docs,
// aws.amazon.com/machine-learning/trainium). Where a data sheet counts operations with sparsity,
// half of them count here.
var accelerators = []Accelerator{
	{"GB300", 288, 8000, 2500},
	{"B300", 288, 8000, 2250},
	{"GB200", 186, 8000, 2500},
	{"B200", 180, 8000, 2250},
	{"B100", 180, 8000, 1750},
	{"GH200", 96, 4000, 989},
	{"H200", 141, 4800, 989},
	{"H200-NVL", 141, 4800, 835},
	{"H100", 80, 3350, 989},
	{"H100-PCIE", 80, 2000, 756},
	{"H100-NVL", 94, 3900, 835},
	{"H800", 80, 3350, 989},
	{"H20", 96, 4000, 148},
	{"A100", 80, 2039, 312},
	{"A100-40GB", 40, 1555, 312},
	{"A100-PCIE-80GB", 80, 1935, 312},
	{"A800", 80, 2039, 312},
	{"L40S", 48, 864, 362},
	{"L40", 48, 864, 181},
	{"L20", 48, 864, 119},
	{"L4", 24, 300, 121},
	{"L2", 24, 300, 97},
	{"A40", 48, 696, 150},
	{"A30", 24, 933, 165},
	{"A10", 24, 600, 125},
	{"A10G", 24, 600, 70},
	{"A16", 16, 200, 18},
	{"T4", 16, 320, 65},
	{"V100", 16, 900, 125},
	{"V100-32GB", 32, 900, 125},
	{"P100", 16, 732, 19},
	{"RTX-PRO-6000", 96, 1792, 252},
	{"RTX-6000-ADA", 48, 960, 182},
	{"RTX-A6000", 48, 768, 155},
	{"RTX-A5000", 24, 768, 111},
	{"RTX-5090", 32, 1792, 209},
	{"RTX-5080", 16, 960, 113},
	{"RTX-4090", 24, 1008, 165},
	{"RTX-4080", 16, 717, 97},
	{"RTX-3090", 24, 936, 71},
	{"MI355X", 288, 8000, 2500},
	{"MI350X", 288, 8000, 2300},
	{"MI325X", 256, 6000, 1307},
	{"MI300X", 192, 5300, 1307},
	{"MI300", 192, 5300, 1307},
	{"MI300A", 128, 5300, 981},
	{"MI250X", 128, 3277, 383},
	{"MI250", 128, 3277, 362},
	{"MI210", 64, 1638, 181},
	{"MI100", 32, 1229, 185},
	{"Gaudi-3", 128, 3700, 1835},
	{"Gaudi-2", 96, 2450, 432},
	{"Max-1550", 128, 3277, 832},
	{"Max-1100", 48, 1229, 352},
	{"TPU-v4", 32, 1228, 275},
	{"TPU-v5e", 16, 819, 197},
	{"TPU-v5-lite", 16, 819, 197},
	{"TPU-v5p", 95, 2765, 459},
	{"TPU-v6e", 32, 1640, 918},
	{"TPU-v7", 192, 7380, 2307},
	{"Inferentia2", 32, 820, 190},
	{"Trainium2", 96, 2900, 667},
	{"Trainium1", 32, 820, 190},
}

// shares are words in names of a part of an accelerator, whose size is unknown.
var shares = []string{"mig", "shared", "vgpu"}

// ByName returns the accelerator by a name as node labels and users write it:
// NVIDIA-H100-80GB-HBM3, h100, A100-SXM4-40GB, Tesla-T4, Gaudi2, tpu-v5-lite-podslice. Case and the
// characters between words do not matter. It returns false for an unknown accelerator, and for a
// part of one.
func ByName(name string) (Accelerator, bool) {
	var found Accelerator
	var room [8]string
	have, most := appendWords(room[:0], name), 0
	if slices.ContainsFunc(shares, func(w string) bool { return slices.Contains(have, w) }) {
		return found, false
	}
	for i, a := range accelerators {
		if n := fits(have, parts[i]); n > most {
			found, most = a, n
		}
	}
	return found, most > 0
}

// parts holds the words of each part of the names of accelerators.
var parts = partsOf(accelerators)

func partsOf(all []Accelerator) [][][]string {
	out := make([][][]string, len(all))
	for i, a := range all {
		for part := range strings.SplitSeq(a.Name, "-") {
			out[i] = append(out[i], appendWords(nil, part))
		}
	}
	return out
}

// fits returns the number of words in the parts of a name, 0 where have lacks one of the parts.
func fits(have []string, parts [][]string) int {
	n := 0
	for _, want := range parts {
		if !contains(have, want) {
			return 0
		}
		n += len(want)
	}
	return n
}

// contains reports whether have contains the words of want in sequence.
func contains(have, want []string) bool {
	for i := range len(have) - len(want) + 1 {
		if slices.Equal(have[i:i+len(want)], want) {
			return true
		}
	}
	return false
}

// appendWords appends the words of a name in lower case, split between letters and digits too:
// H100-80GB is h 100 80 gb.
func appendWords(to []string, name string) []string {
	name = strings.ToLower(name)
	last, began := other, 0
	for i, r := range name {
		kind := kindOf(r)
		if kind == last {
			continue
		}
		if last != other {
			to = append(to, name[began:i])
		}
		last, began = kind, i
	}
	if last != other {
		to = append(to, name[began:])
	}
	return to
}

// The kinds of characters that words are made of.
const (
	other = iota
	letter
	digit
)

func kindOf(r rune) int {
	switch {
	case r >= 'a' && r <= 'z':
		return letter
	case r >= '0' && r <= '9':
		return digit
	}
	return other
}
