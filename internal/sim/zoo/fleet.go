package zoo

import (
	"fmt"
	"math"
	"slices"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/serving"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/dice"
)

// served is a model with its objectives and its variants.
type served struct {
	share     float64
	ttft, itl float64   // ms, 0 for none
	speed     float64   // requests/s of a replica of the first variant, estimated
	variants  []Replica // the first carries the load
	lengths   Lengths
	z         float64 // standard deviations of a normal distribution that cover the target
}

// served draws a model with so many variants.
func (s Stock) served(d dice.Dice, l Lengths, share float64, variants int, target float64) served {
	m := served{share: share, lengths: l, z: math.Sqrt2 * math.Erfinv(2*target-1)}
	first := s.replica(d, l, func(Replica) bool { return true })
	m.variants = []Replica{first}
	alike := func(r Replica) bool { return r.family() == first.family() }
	if d.IntN(4) == 0 {
		alike = func(Replica) bool { return true }
	}
	for range variants - 1 {
		m.variants = append(m.variants, s.replica(d, l, alike))
	}
	m.ask(d)
	return m
}

// replica draws a replica that holds all but the longest requests, with all of its KV cache or a
// part of it, and a batch size.
func (s Stock) replica(d dice.Dice, l Lengths, alike func(Replica) bool) Replica {
	room := 2 * l.Longest
	all := slices.DeleteFunc(slices.Clone(s.Replicas), func(r Replica) bool { return !alike(r) || float64(r.Profile.KVCacheTokens) < room })
	if len(all) == 0 {
		all = s.Replicas
	}
	r := dice.Pick(d, all...)
	p := &r.Profile
	p.MaxBatchSize = dice.Pick(d, 256, 256, 256, 128, 64)
	p.MaxBatchedTokens = dice.Pick(d, 2048, 2048, 2048, 8192)
	kv := float64(p.KVCacheTokens) * dice.Pick(d, 1, 1, 1, 0.5, 0.25)
	if d.IntN(3) == 0 { // the KV cache is full before the batch is
		kv = min(kv, d.Between(8, 0.8*float64(p.MaxBatchSize))*held(l)/full)
	}
	kv = min(float64(p.KVCacheTokens), max(kv, room))
	p.KVCacheTokens = max(p.BlockSize, int(kv)/p.BlockSize*p.BlockSize)
	p.MaxModelLen = p.KVCacheTokens
	p.Name = fmt.Sprintf("%s, KV cache of %d, batch of %d", p.Name, p.KVCacheTokens, p.MaxBatchSize)
	return r
}

// ask draws objectives that the first variant can meet, strict or loose. In two of three models the
// other variants can meet them with next to no load, too.
func (m *served) ask(d dice.Dice) {
	first, l := m.variants[0].Profile, m.lengths
	m.itl = At(first, l, d.Between(0.3, 0.95)*Speed(first, l, math.Inf(1), 0), m.z).ITL
	m.ttft = max(100, alone(first, l.LongInput)) * d.Around(1.5, 30)
	if d.IntN(3) > 0 {
		for _, v := range m.variants[1:] {
			m.itl = max(m.itl, 1.25*v.Profile.AlphaMS)
			m.ttft = max(m.ttft, 1.5*alone(v.Profile, l.LongInput))
		}
	}
	m.itl, m.ttft = dice.Digits(m.itl, 2), dice.Digits(min(m.ttft, 120_000), 2)
	switch d.IntN(10) {
	case 0:
		m.itl = 0
	case 1:
		m.ttft = 0
	}
	m.speed = max(1e-3, m.rate(first))
}

// rate estimates the requests/s that a replica carries within the objectives.
func (m *served) rate(p serving.Profile) float64 {
	itl := m.itl
	if itl == 0 {
		itl = math.Inf(1)
	}
	return Speed(p, m.lengths, itl, m.z)
}
