package recordtest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Filler draws values.
type Filler struct {
	Rand *rand.Rand
	// Zeros is the share of fields that are left zero, a ratio in [0, 1). With 0 every field that
	// can be drawn is not zero, and no list is empty.
	Zeros float64
}

// Fill sets everything that can be reached from pointer to drawn values. It panics for a type that
// it cannot draw.
func (f Filler) Fill(pointer any) { f.fill(reflect.ValueOf(pointer).Elem()) }

func (f Filler) fill(v reflect.Value) {
	if f.Rand.Float64() < f.Zeros {
		return
	}
	switch v.Type() {
	case reflect.TypeFor[time.Time]():
		at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
		v.Set(reflect.ValueOf(at.Add(time.Duration(f.Rand.Int64N(1e15)))))
		return
	case reflect.TypeFor[scaling.Freshness]():
		v.SetUint(1 + f.Rand.Uint64N(uint64(scaling.Fresh)))
		return
	case reflect.TypeFor[scaling.Stuckness]():
		v.SetString([]string{string(scaling.Frozen), string(scaling.Sick)}[f.Rand.IntN(2)])
		return
	case reflect.TypeFor[scaling.CostSource]():
		v.SetString([]string{string(scaling.CostVariant), string(scaling.CostUnitCost)}[f.Rand.IntN(2)])
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(f.integer())
	case reflect.Float64:
		v.SetFloat(f.number())
	case reflect.String:
		v.SetString([]string{"plain", "a \"b\" \\ <c>", "größer\n\u2028", "ns/model-8b"}[f.Rand.IntN(4)] + fmt.Sprint(f.Rand.IntN(1e6)))
	default:
		f.fillParts(v)
	}
}

func (f Filler) fillParts(v reflect.Value) {
	n := 1 + f.Rand.IntN(3)
	if f.Zeros > 0 && f.Rand.IntN(4) == 0 {
		n = 0
	}
	switch v.Kind() {
	case reflect.Struct:
		for _, field := range v.Fields() {
			f.fill(field)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			f.fill(v.Index(i))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range n {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			f.fill(key)
			f.fill(value)
			v.SetMapIndex(key, value)
		}
	default:
		panic("recordtest: cannot draw a " + v.Type().String())
	}
}

func (f Filler) integer() int64 {
	return []int64{1, -1, 7, math.MaxInt32, math.MaxInt, math.MinInt, 1 + f.Rand.Int64N(1e12)}[f.Rand.IntN(7)]
}

func (f Filler) number() float64 {
	edges := []float64{
		math.Copysign(0, -1), math.SmallestNonzeroFloat64, math.MaxFloat64, 1e21, 1e-7, 0.1 + 0.2, math.Inf(1), math.Inf(-1), math.NaN(),
	}
	if f.Zeros > 0 && f.Rand.IntN(3) == 0 {
		return edges[f.Rand.IntN(len(edges))]
	}
	return f.Rand.NormFloat64()
}
