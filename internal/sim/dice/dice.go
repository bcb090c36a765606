// Package dice draws the values that random cases are made of.
package dice

import (
	"math"
	"math/rand/v2"
	"time"
)

// Dice draws from a random stream.
type Dice struct{ *rand.Rand }

// New returns the dice of two seeds. Equal seeds draw equal values.
func New(a, b uint64) Dice { return Dice{rand.New(rand.NewPCG(a, b))} }

// Pick returns one of several values, with equal chances for each position in the list.
func Pick[T any](d Dice, all ...T) T { return all[d.IntN(len(all))] }

// Between returns a number from lo to hi.
func (d Dice) Between(lo, hi float64) float64 { return lo + (hi-lo)*d.Float64() }

// Around returns a number from lo to hi, both above 0, uniform in its logarithm.
func (d Dice) Around(lo, hi float64) float64 { return math.Exp(d.Between(math.Log(lo), math.Log(hi))) }

// Span returns a time from lo to hi, uniform in its logarithm, in whole units.
func (d Dice) Span(lo, hi, unit time.Duration) time.Duration {
	return max(lo, time.Duration(d.Around(lo.Seconds(), hi.Seconds())*float64(time.Second)).Round(unit))
}

// Digits rounds a number to so many significant digits.
func Digits(x float64, n int) float64 {
	if x == 0 {
		return 0
	}
	scale := math.Pow(10, math.Floor(math.Log10(math.Abs(x)))+1-float64(n))
	if scale < 1 { // 1/scale is a whole number, which divides without an error in the last digit
		return math.Round(x*math.Round(1/scale)) / math.Round(1/scale)
	}
	return math.Round(x/scale) * scale
}
