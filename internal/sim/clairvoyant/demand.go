package clairvoyant

import (
	"context"
	"math"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/workload"
)

// demand is what the requests of a model ask for over time.
type demand struct {
	tick     time.Duration
	arrived  []float64   // requests by tick
	replicas [][]float64 // by variant and tick: that are busy all the time, if packed as well as can be
	total    uint64      // requests
	servable []uint64    // by variant, requests that meet their objectives there
}

// demandOf reads a workload. Work is due from when a request arrives to when its
// tokens are.
func demandOf(ctx context.Context, c sim.Config, m sim.Model, tick time.Duration, fresh Arrivals) (*demand, error) {
	laws, err := laws(m)
	if err != nil {
		return nil, err
	}
	d := &demand{tick: tick, replicas: make([][]float64, len(laws)), servable: make([]uint64, len(laws))}
	err = each(ctx, c, m.Key, fresh, func(r workload.Request) {
		d.total++
		spread(&d.arrived, tick, r.At, 0, 1)
		for i := range laws {
			l := &laws[i]
			if _, ok := l.least(r, math.MaxInt); ok {
				d.servable[i]++
			}
			w := l.takes(r, math.MaxInt)
			steps := float64(r.OutputTokens - 1)
			spread(&d.replicas[i], tick, r.At, 0, (w.prompt+w.begin)/tickMillis(tick))
			spread(&d.replicas[i], tick, r.At, millis(steps*l.usualStep()), (w.tokens+max(w.batch, w.memory))/tickMillis(tick))
		}
	})
	return d, err
}

// usualStep is the time of a decoding step in ms: what the objective allows, or
// that of a full batch.
func (l *law) usualStep() float64 {
	full := l.profile.AlphaMS + l.profile.BetaMS*float64(l.profile.MaxBatchSize)
	if l.slo.ITL > 0 {
		return min(full, l.slo.ITL)
	}
	return full
}

func tickMillis(tick time.Duration) float64 { return float64(tick) / float64(time.Millisecond) }

// spread adds an amount to the ticks that a stretch of time touches, each by its
// part in it.
func spread(ticks *[]float64, tick, from, length time.Duration, amount float64) {
	first, last := int(from/tick), int((from+length)/tick)
	for len(*ticks) <= last {
		*ticks = append(*ticks, 0)
	}
	if first == last || length <= 0 {
		(*ticks)[first] += amount
		return
	}
	for i := first; i <= last; i++ {
		begin, end := max(from, time.Duration(i)*tick), min(from+length, time.Duration(i+1)*tick)
		(*ticks)[i] += amount * float64(end-begin) / float64(length)
	}
}

// at returns the replicas of a variant that are busy in a tick.
func (d *demand) at(variant, tick int) float64 {
	if line := d.replicas[variant]; tick < len(line) {
		return line[tick]
	}
	return 0
}

// margin is how many replicas are kept for the work of a tick: Times as many as
// are busy, and Plus. Times 0 keeps none.
type margin struct{ times, plus float64 }

// margins are those that a search tries, from the least. What is due is computed
// for the densest packing, which none reaches with room for chance.
var margins = [...]margin{{}, {0.8, 0}, {1, 0}, {1.15, 0}, {1.3, 0}, {1.5, 0}, {1.8, 0.25}, {2.3, 0.5}, {3, 1}, {4, 2}}

// cover returns the cheapest replicas of the variants for the work of a tick:
// of one variant or of a pair, whichever cost least (ties: the first). prices
// are per replica; the variants that may not be used have NaN.
func (d *demand) cover(tick int, m margin, prices []float64) []int32 {
	best, least := make([]int32, len(prices)), math.Inf(1)
	need := func(v int) float64 {
		if busy := d.at(v, tick); busy > 1e-9 && m.times > 0 {
			return m.times*busy + m.plus
		}
		return 0
	}
	for a := range prices {
		if math.IsNaN(prices[a]) {
			continue
		}
		x := need(a)
		most := int32(math.Ceil(x - 1e-9))
		try := func(n int32, b int, other int32) {
			price := float64(n)*prices[a] + float64(other)*prices[b]
			if price < least {
				clear(best)
				best[b] = other
				best[a] += n
				least = price
			}
		}
		try(most, a, 0)
		for b := a + 1; b < len(prices); b++ {
			if math.IsNaN(prices[b]) {
				continue
			}
			y := need(b)
			for n := range most {
				try(n, b, int32(math.Ceil(y*(1-float64(n)/x)-1e-9)))
			}
		}
	}
	return best
}
