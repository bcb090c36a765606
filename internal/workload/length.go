package workload

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// Length draws the length of a prompt or an answer.
type Length interface {
	// Draw returns a length in tokens, in [1, MaxTokens].
	Draw(rng *rand.Rand) int
	// Mean returns the expectation of Draw, in tokens.
	Mean() float64
}

// Lengths are the lengths of a request, drawn independently of each other.
type Lengths struct {
	Input, Output Length
}

// Fixed is a length without spread, in tokens.
type Fixed int

// Draw implements Length.
func (f Fixed) Draw(*rand.Rand) int { return int(f) }

// Mean implements Length.
func (f Fixed) Mean() float64 { return float64(f) }

// ConstantLengths returns lengths without spread, in tokens.
func ConstantLengths(input, output int) (Lengths, error) {
	for _, n := range []int{input, output} {
		if n < 1 || n > MaxTokens {
			return Lengths{}, fmt.Errorf("%d tokens are not in [1, %d]", n, MaxTokens)
		}
	}
	return Lengths{Input: Fixed(input), Output: Fixed(output)}, nil
}

// Published mean lengths of ShareGPT in tokens: Kwon et al., Efficient Memory
// Management for Large Language Model Serving with PagedAttention, SOSP 2023,
// Figure 11(a).
const (
	ShareGPTInputMean  = 161.31
	ShareGPTOutputMean = 337.99
)

// Spread and range of ChatLengths. The paper has histograms and the two means, no other figure: the
// spreads are our choice of a heavy tail for prompts and a lighter one for answers, not a fit to
// data. The ranges are those in which vLLM's serving benchmark keeps requests of ShareGPT (at least
// 4 tokens; prompts up to 1024, prompt and answer together up to 2048), applied to each length.
const (
	chatInputSigma  = 1.1
	chatOutputSigma = 0.9
	chatMin         = 4
	chatInputMax    = 1024
	chatOutputMax   = 2048
)

// ChatLengths returns lengths like those of ShareGPT, clamped lognormals, with the given means in
// tokens, in [1, 100000]. With ShareGPTInputMean and ShareGPTOutputMean they have the published
// means; with others the range scales in proportion, and the spread (the ratio of percentiles)
// stays the same. Input and output are drawn independently; real ones depend on each other a
// little.
func ChatLengths(inputMean, outputMean float64) (Lengths, error) {
	input, err := scaledChat(inputMean, ShareGPTInputMean, chatInputSigma, chatInputMax)
	if err != nil {
		return Lengths{}, fmt.Errorf("input lengths: %w", err)
	}
	output, err := scaledChat(outputMean, ShareGPTOutputMean, chatOutputSigma, chatOutputMax)
	if err != nil {
		return Lengths{}, fmt.Errorf("output lengths: %w", err)
	}
	return Lengths{Input: input, Output: output}, nil
}

func scaledChat(mean, published, sigma, maximum float64) (Length, error) {
	const largest = 100_000 // above any context served today; far from MaxTokens
	if !(mean >= 1 && mean <= largest) {
		return nil, fmt.Errorf("the mean %s is not in [1, %d] tokens", number(mean), largest)
	}
	scale := mean / published
	low, high := int(max(1, math.Floor(chatMin*scale))), int(math.Ceil(maximum*scale))
	if float64(low) >= mean {
		return Fixed(int(mean)), nil // nothing fits below a mean of 1
	}
	return newLognormal(mean, sigma, low, high)
}

// Lognormal is a lognormal length, rounded and clamped to a range.
type Lognormal struct {
	mean      float64 // after clamping, tokens
	mu, sigma float64 // of ln(tokens)
	low, high int     // tokens
}

// newLognormal returns the lognormal whose mean after clamping to [low, high]
// is mean, all in tokens, 1 <= low < mean < high <= MaxTokens. sigma is the
// standard deviation of the logarithm, in (0, 3].
func newLognormal(mean, sigma float64, low, high int) (Lognormal, error) {
	if low < 1 || high > MaxTokens || !(mean > float64(low) && mean < float64(high)) {
		return Lognormal{}, fmt.Errorf("want 1 <= low < mean < high <= %d, have low %d, mean %s, high %d", MaxTokens, low, number(mean), high)
	}
	if !(sigma > 0 && sigma <= 3) {
		return Lognormal{}, fmt.Errorf("sigma %s is not in (0, 3]", number(sigma))
	}
	l := Lognormal{mean: mean, sigma: sigma, low: low, high: high}
	// The clamped mean rises with mu from low to high, so bisect. With mu 40 sigmas beyond the
	// range, all lengths lie outside it.
	from, to := math.Log(float64(low))-40*sigma, math.Log(float64(high))+40*sigma
	for range 100 {
		l.mu = (from + to) / 2
		if l.clampedMean() < mean {
			from = l.mu
		} else {
			to = l.mu
		}
	}
	return l, nil
}

// Draw implements Length.
func (l Lognormal) Draw(rng *rand.Rand) int {
	x := math.Exp(l.mu + l.sigma*rng.NormFloat64())
	return int(math.Round(min(max(x, float64(l.low)), float64(l.high))))
}

// Mean implements Length. Rounding moves the true mean by less than half a
// token, and by far less when the range spans many tokens.
func (l Lognormal) Mean() float64 { return l.mean }

// Quantile returns the length in tokens below which a fraction q in (0, 1) lies.
func (l Lognormal) Quantile(q float64) float64 {
	x := math.Exp(l.mu + l.sigma*math.Sqrt2*math.Erfinv(2*q-1))
	return min(max(x, float64(l.low)), float64(l.high))
}

// clampedMean returns E[min(max(X, a), b)] of a lognormal X: a·Φ(α) + b·(1-Φ(β)) +
// exp(μ+σ²/2)·(Φ(β-σ) - Φ(α-σ)), α = (ln a - μ)/σ, β likewise.
func (l Lognormal) clampedMean() float64 {
	a, b := float64(l.low), float64(l.high)
	alpha, beta := (math.Log(a)-l.mu)/l.sigma, (math.Log(b)-l.mu)/l.sigma
	middle := phi(beta-l.sigma) - phi(alpha-l.sigma)
	if middle > 0 {
		middle *= math.Exp(l.mu + l.sigma*l.sigma/2)
	}
	return a*phi(alpha) + b*phi(-beta) + middle
}

// phi returns the standard normal distribution function at x.
func phi(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
