package memory

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

// VariantFits are the Fits of the variants of one model, by variant name. It is a value: no method
// changes it. Its JSON is the stored form; see storedFit.
type VariantFits map[string]Fit

// Merge returns the fits of both; for a variant in both, the one with the later sample.
func (v VariantFits) Merge(o VariantFits) VariantFits {
	out := make(VariantFits, len(v)+len(o))
	for _, all := range []VariantFits{v, o} {
		for name, f := range all {
			if had, both := out[name]; !both || f.compare(had) > 0 {
				out[name] = f
			}
		}
	}
	return out
}

// compare orders Fits by their last sample, then by weight. Any order will do for the rest.
func (f Fit) compare(o Fit) int {
	if c := cmp.Or(f.At.Compare(o.At), cmp.Compare(f.samples(), o.samples())); c != 0 {
		return c
	}
	return strings.Compare(fmt.Sprint(f), fmt.Sprint(o))
}

// movedFit is the relative change of a band's mean ITL that counts as a difference. The mean varies
// by less from minute to minute, even though a band spans a factor of two in batch size. In the
// recorded traces of a day or two this causes about seven writes a day.
const movedFit = 0.15

// Differs reports whether decisions by v may differ from decisions by o: v has a later sample of a
// variant, and the variant has other accelerators or another template, twice as many windows, or a
// band that is new, faster or slower.
func (v VariantFits) Differs(o VariantFits) bool {
	for name, f := range v {
		had := o[name]
		if !f.At.After(had.At) || !f.Seen() {
			continue
		}
		if had.Seen() && f.Of != had.Of || f.samples() >= 2*max(1, had.samples()) || slices.ContainsFunc(f.Bands, had.differs) {
			return true
		}
	}
	return false
}

// Seen reports whether f has any samples.
func (f Fit) Seen() bool { return f.samples() > 0 }

// differs reports whether b contradicts the band of f, or adds to it.
func (f Fit) differs(b Band) bool {
	if b.ITL.Samples < SamplesEnough {
		return false
	}
	i, seen := f.band(b.Of)
	if !seen {
		return true
	}
	was, is := f.Bands[i].ITL.mean(), b.ITL.mean()
	return math.Abs(is-was) > movedFit*was || b.TTFT.Samples >= SamplesEnough && f.Bands[i].TTFT.Samples == 0
}

// band returns the index of a band in f.Bands, or the index to insert it at, and whether it is
// there.
func (f Fit) band(of int) (int, bool) {
	return slices.BinarySearchFunc(f.Bands, of, func(b Band, of int) int { return b.Of - of })
}

// mean returns the harmonic mean of the measurements, if the first regressor is 1.
func (s Sums) mean() float64 { return s.Samples / s.X0 }

// Less returns v without the variant whose last sample is the oldest, and false if no variant is
// left.
func (v VariantFits) Less() (VariantFits, bool) {
	oldest := ""
	for _, name := range slices.Sorted(maps.Keys(v)) {
		if oldest == "" || v[name].At.Before(v[oldest].At) {
			oldest = name
		}
	}
	out := maps.Clone(v)
	delete(out, oldest)
	return out, len(out) > 0
}

// String describes the ITL of each variant at small and large batch sizes.
func (v VariantFits) String() string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(v)) {
		out = append(out, name+" "+v[name].say())
	}
	return strings.Join(out, ", ")
}

// say describes the ITL in the lowest and in the highest band.
func (f Fit) say() string {
	if len(f.Bands) == 0 {
		return fmt.Sprintf("ITL %.1f ms in an overload (%.0f windows)", f.Over.mean(), f.Over.Samples)
	}
	at := func(b Band) string {
		return fmt.Sprintf("%.1f ms at concurrency %.1f", b.ITL.mean(), b.ITL.X1/b.ITL.X0)
	}
	text := "ITL " + at(f.Bands[0])
	if last := len(f.Bands) - 1; last > 0 {
		text += ", " + at(f.Bands[last])
	}
	return fmt.Sprintf("%s (%.0f windows)", text, f.samples())
}

// storedFit is the stored form of a Fit. A band takes a byte for its number and 22 numbers of 4
// bytes for the sums of its ITL and TTFT: about 119 characters in JSON, as exact as a measurement.
// Six bands, up to 64 requests, take about 850 with the rest.
type storedFit struct {
	Subject
	At    time.Time `json:"at"` // in whole seconds
	Bands []byte    `json:"bands,omitempty"`
	Over  []byte    `json:"over,omitempty"`
}

const (
	sumsBytes = 11 * 4
	bandBytes = 1 + 2*sumsBytes
	// largestBand is the largest stored band: more than 10^18 requests do not decode together.
	largestBand = 62
)

// MarshalJSON returns the stored form of the Fits that have any samples.
func (v VariantFits) MarshalJSON() ([]byte, error) {
	out := make(map[string]storedFit, len(v))
	for name, f := range v {
		s := storedFit{Subject: f.Of, At: f.At.UTC().Truncate(time.Second)}
		for _, b := range f.Bands {
			if b.Of >= 0 && b.Of <= largestBand && b.ITL.storable() && (b.TTFT == Sums{} || b.TTFT.storable()) {
				s.Bands = b.TTFT.appendTo(b.ITL.appendTo(append(s.Bands, byte(b.Of))))
			}
		}
		if f.Over.storable() {
			s.Over = f.Over.appendTo(nil)
		}
		if s.Bands != nil || s.Over != nil {
			out[name] = s
		}
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what MarshalJSON returns.
func (v *VariantFits) UnmarshalJSON(text []byte) error {
	var in map[string]storedFit
	if err := json.Unmarshal(text, &in); err != nil {
		return err
	}
	*v = make(VariantFits, len(in))
	for _, name := range slices.Sorted(maps.Keys(in)) {
		f, err := in[name].fit()
		if err != nil {
			return fmt.Errorf("variant %s: %w", name, err)
		}
		(*v)[name] = f
	}
	return nil
}

// fit returns the Fit that s stores.
func (s storedFit) fit() (Fit, error) {
	f := Fit{Of: s.Subject, At: s.At.UTC().Truncate(time.Second)}
	if len(s.Bands)%bandBytes != 0 || len(s.Over) != 0 && len(s.Over) != sumsBytes || len(s.Bands)+len(s.Over) == 0 {
		return Fit{}, fmt.Errorf("its sums have %d and %d bytes: want some, %d for each band and %d beside them", len(s.Bands), len(s.Over), bandBytes, sumsBytes)
	}
	for at := s.Bands; len(at) > 0; at = at[bandBytes:] {
		b := Band{Of: int(at[0]), ITL: sumsIn(at[1:]), TTFT: sumsIn(at[1+sumsBytes:])}
		if n := len(f.Bands); b.Of > largestBand || n > 0 && f.Bands[n-1].Of >= b.Of {
			return Fit{}, fmt.Errorf("band %d is not after the one before it and at most %d", b.Of, largestBand)
		}
		if !b.ITL.storable() || b.TTFT != (Sums{}) && !b.TTFT.storable() {
			return Fit{}, fmt.Errorf("the sums of band %d are of no samples", b.Of)
		}
		f.Bands = append(f.Bands, b)
	}
	if len(s.Over) > 0 {
		if f.Over = sumsIn(s.Over); !f.Over.storable() {
			return Fit{}, fmt.Errorf("the sums of the overload are of no samples")
		}
	}
	return f, nil
}

// numbers returns the sums in their stored order.
func (s Sums) numbers() [11]float64 {
	return [11]float64{s.Samples, s.XX00, s.XX01, s.XX02, s.XX11, s.XX12, s.XX22, s.X0, s.X1, s.X2, s.Squares}
}

// storable reports whether an engine can have caused the sums: all are finite and >= 0, and they
// contain some windows and some measurement.
func (s Sums) storable() bool {
	for _, x := range s.numbers() {
		if small := float32(x); !(small >= 0) || math.IsInf(float64(small), 0) {
			return false
		}
	}
	return float32(s.Samples) > 0 && float32(s.X0) > 0
}

// appendTo appends the stored form of the sums.
func (s Sums) appendTo(to []byte) []byte {
	for _, x := range s.numbers() {
		to = binary.LittleEndian.AppendUint32(to, math.Float32bits(float32(x)))
	}
	return to
}

// sumsIn reads the stored form of sums.
func sumsIn(from []byte) Sums {
	var x [11]float64
	for i := range x {
		x[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(from[4*i:])))
	}
	return Sums{Samples: x[0], XX00: x[1], XX01: x[2], XX02: x[3], XX11: x[4], XX12: x[5], XX22: x[6], X0: x[7], X1: x[8], X2: x[9], Squares: x[10]}
}
