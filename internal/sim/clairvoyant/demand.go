package clairvoyant

import (
	"context"
	"math"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/workload"
)

// demand is the work that the requests of a model cause over time.
type demand struct {
	tick     time.Duration
	replicas [][]float64 // by variant and tick: busy replicas, if requests are packed as densely as possible
	judged   uint64      // requests that arrive from Config.From on
	servable []uint64    // by variant: judged requests that meet their objectives there alone
	served   uint64      // requests that some variant can serve so
}

// demandOf reads a workload. Prefill is due when a request arrives, decode from then until the
// request has its tokens.
func demandOf(ctx context.Context, c sim.Config, m sim.Model, tick time.Duration, fresh Arrivals) (*demand, error) {
	times, err := serviceTimesOf(m)
	if err != nil {
		return nil, err
	}
	d := &demand{tick: tick, replicas: make([][]float64, len(times)), servable: make([]uint64, len(times))}
	err = each(ctx, c, m.Key, fresh, func(r workload.Request) {
		some := false
		for i := range times {
			l := &times[i]
			if r.At >= c.From && l.servable(r) {
				d.servable[i]++
				some = true
			}
			spread(&d.replicas[i], tick, r.At, 0, l.prefill(r)/tickMillis(tick))
			spread(&d.replicas[i], tick, r.At, millis(float64(r.OutputTokens-1)*l.step()), l.decode(r)/tickMillis(tick))
		}
		if r.At >= c.From {
			d.judged++
		}
		if some {
			d.served++
		}
	})
	return d, err
}

func tickMillis(tick time.Duration) float64 { return float64(tick) / float64(time.Millisecond) }

// spread adds an amount to the ticks of a stretch of time, to each in proportion to its part of the
// stretch.
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

// at returns the busy replicas of a variant in a tick.
func (d *demand) at(variant, tick int) float64 {
	if line := d.replicas[variant]; tick < len(line) {
		return line[tick]
	}
	return 0
}

// mean returns the mean of the busy replicas of a variant over some ticks.
func (d *demand) mean(variant, from, to int) float64 {
	sum := 0.0
	for t := from; t < to; t++ {
		sum += d.at(variant, t)
	}
	return sum / float64(max(1, to-from))
}

// cover returns the cheapest replicas for some work: of one variant or of a pair (ties: the first).
// need has the replicas that each variant would need alone, prices the price of a replica, NaN for
// a variant that may not be used.
func cover(need, prices []float64) []int32 {
	best, least := make([]int32, len(prices)), math.Inf(1)
	for a := range prices {
		if math.IsNaN(prices[a]) {
			continue
		}
		x := need[a]
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
			y := need[b]
			for n := range most {
				try(n, b, int32(math.Ceil(y*(1-float64(n)/x)-1e-9)))
			}
		}
	}
	return best
}
