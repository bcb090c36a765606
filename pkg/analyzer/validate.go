package analyzer

import (
	"fmt"
	"math"
)

// validate returns an *InputError that names the first field out of its range.
func (c Config) validate() error {
	if c.MaxBatch < 1 || c.MaxBatch > mostBatch {
		return &InputError{"Config.MaxBatch", c.MaxBatch, fmt.Sprintf("1 to %d requests", mostBatch)}
	}
	if c.MaxQueue < 0 || c.MaxQueue > mostQueue {
		return &InputError{"Config.MaxQueue", c.MaxQueue, fmt.Sprintf("0 to %d requests", mostQueue)}
	}
	if err := c.Size.Validate(); err != nil {
		return err
	}
	if c.Service == nil {
		return &InputError{Field: "Config.Service", Want: "a service model"}
	}
	if err := c.Service.Validate(); err != nil {
		return err
	}
	return c.validateTimes()
}

// validateTimes checks that the times of the service model are finite, not negative, affine in the
// batch and never falling.
func (c Config) validateTimes() error {
	times := [...]struct {
		name string
		of   func(float64, RequestSize) float64
	}{
		{"Prefill", c.Service.Prefill},
		{"Decode", c.Service.Decode},
		{"FirstToken", c.Service.FirstToken},
		{"Total", c.Service.Total},
	}
	const slack = 1e-9 // relative, for rounding
	last := float64(c.MaxBatch)
	for _, t := range times {
		field := "Config.Service." + t.name
		one, middle, all := t.of(1, c.Size), t.of((1+last)/2, c.Size), t.of(last, c.Size)
		for _, v := range [...]float64{one, middle, all} {
			if err := notNegative(field, v); err != nil {
				return err
			}
		}
		if all < one*(1-slack) || math.Abs(middle-(one+all)/2) > slack*all {
			return &InputError{field, middle, fmt.Sprintf(
				"a line through %v ms at batch 1 and %v ms at batch %v that does not fall", one, all, last)}
		}
	}
	// These are far beyond any request; rates and their inverses stay finite.
	const least, most = 1e-100, 1e100
	for _, v := range [...]float64{c.Service.Total(1, c.Size), c.Service.Total(last, c.Size)} {
		if v < least || v > most {
			return &InputError{"Config.Service.Total", v, fmt.Sprintf("%v to %v ms", least, most)}
		}
	}
	return nil
}
