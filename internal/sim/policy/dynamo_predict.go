package policy

import "github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"

// interval collects the readings of one adjustment interval.
type interval struct {
	sum float64
	n   int
}

func (i *interval) add(r scaling.Reading) {
	if r.Known() {
		i.sum += r.Value
		i.n++
	}
}

func (i *interval) mean() float64 {
	if i.n == 0 {
		return 0
	}
	return i.sum / float64(i.n)
}

// predictor predicts the next value of a sequence. It skips zeros at the beginning, and returns the
// last value until it has seen enough.
type predictor struct {
	next float64 // >= 0
	seen int
	kalman
}

// The settings of Dynamo's Kalman predictor.
const (
	kalmanLevel  = 1.0    // variance of the level's steps
	kalmanTrend  = 0.1    // variance of the trend's steps
	kalmanNoise  = 10.0   // variance of the observation
	kalmanUnsure = 1000.0 // variance of level and trend at the beginning
	kalmanPoints = 5      // values before the filter is used
)

// observe takes in the value of an interval; kind is "constant" or "kalman".
func (p *predictor) observe(value float64, kind string) {
	if p.seen == 0 && value == 0 {
		return
	}
	p.seen++
	p.next = value
	if kind != "kalman" {
		return
	}
	p.update(value, p.seen == 1)
	if p.seen >= kalmanPoints {
		p.next = max(0, p.level+p.trend)
	}
}

// kalman is a local linear trend: level' = level + trend, observed with noise.
type kalman struct {
	level, trend  float64
	p00, p01, p11 float64 // covariance
}

func (k *kalman) update(value float64, first bool) {
	if first {
		*k = kalman{level: value, p00: kalmanUnsure, p11: kalmanUnsure}
		return
	}
	level := k.level + k.trend
	p00 := k.p00 + 2*k.p01 + k.p11 + kalmanLevel
	p01 := k.p01 + k.p11
	p11 := k.p11 + kalmanTrend
	gain0, gain1 := p00/(p00+kalmanNoise), p01/(p00+kalmanNoise)
	off := value - level
	*k = kalman{
		level: level + gain0*off, trend: k.trend + gain1*off,
		p00: (1 - gain0) * p00, p01: (1 - gain0) * p01, p11: p11 - gain1*p01,
	}
}
