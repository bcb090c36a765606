package profile

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// Origin says where the knowledge of a replica comes from.
type Origin string

// The origins.
const (
	Nowhere            Origin = "nothing"              // no variant of the model was seen enough, and nothing is stated, shared or computed
	IsComputed         Origin = "computed"             // from the size of the model and the accelerator: no replica was seen
	IsStated           Origin = "stated"               // the profile of the user: no replica was seen
	IsShared           Origin = "shared"               // what replicas of its kind showed in another namespace
	LearnedAfterShared Origin = "learned after shared" // from its own replicas, with shared knowledge as prior
	IsLearned          Origin = "learned"              // from its own replicas
	LearnedAfterStated Origin = "learned after stated" // from its own replicas, with the profile of the user as prior
	LikeAnother        Origin = "like another"         // from another variant of the model, the best known one
	LearnedAfterLike   Origin = "learned after like"   // from its own replicas, with that variant as prior
)

// Shown is what is known of the speed of the replicas of one variant, for people and their
// programs. Lengths are of the present requests, in tokens; 0 while they are unknown.
type Shown struct {
	Variant scaling.VariantKey `json:"variant"`
	From    Origin             `json:"from"`
	// Like is the variant that it is assumed to resemble, if any.
	Like scaling.VariantKey `json:"like,omitzero"`
	// Namespaces is the number of other namespaces with replicas of its kind, where the knowledge
	// begins with what they showed.
	Namespaces int       `json:"namespaces,omitempty"`
	Samples    float64   `json:"looks"`       // windows that count
	At         time.Time `json:"at,omitzero"` // of the last sample
	Informed   bool      `json:"informed"`    // enough was seen without a queue
	Prompt     float64   `json:"prompt"`      // input tokens without those found in the prefix cache
	Answer     float64   `json:"answer"`
	// Coefficients are those of the laws of the package; none where nothing is known.
	Coefficients []Coefficient `json:"coefficients,omitempty"`
	// ITLScatter and TTFTScatter are the standard deviations of one window from the fit, as ratios.
	ITLScatter  float64 `json:"itlScatter,omitempty"`
	TTFTScatter float64 `json:"ttftScatter,omitempty"`
	Bands       []Seen  `json:"bands,omitempty"`
	// Profile is the learned profile for requests of those lengths. The zero value is none.
	Profile scaling.Profile `json:"profile,omitzero"`
	// Stated is the profile of the user. The zero value is none.
	Stated scaling.Profile `json:"stated,omitzero"`
	// Computed says which data the prior of the variant is computed from, "" where it cannot be
	// computed.
	Computed string `json:"computed,omitempty"`
	// Refuted says why what was seen of its replicas is not used, "" where it is used.
	Refuted string `json:"refuted,omitempty"`
	// Doubts are warnings about the numbers.
	Doubts []string `json:"doubts,omitempty"`

	step, first estimate
}

// Coefficient is one number of a law.
type Coefficient struct {
	Name    string `json:"name"`
	Unit    string `json:"unit"`
	Meaning string `json:"meaning"`
	Interval
}

// Seen is what was seen in one band of the concurrency, or in an overload.
type Seen struct {
	From float64 `json:"from"` // concurrency
	To   float64 `json:"to"`
	// Overload says that more requests waited than there were replicas.
	Overload    bool    `json:"overload,omitempty"`
	Concurrency float64 `json:"concurrency"` // in the mean
	Tokens      float64 `json:"tokens"`      // input tokens of a step, in the mean
	ITL         Fitted  `json:"itl"`
	TTFT        Fitted  `json:"ttft,omitzero"`
}

// Fitted is a measured time beside the time by the law.
type Fitted struct {
	Samples  float64 `json:"looks"`    // windows
	Measured float64 `json:"measured"` // ms
	Fit      float64 `json:"fit"`      // ms
	Off      float64 `json:"off"`      // mean deviation from the fit, a ratio; positive where it is longer
	Scatter  float64 `json:"scatter"`  // root mean square deviation of one window, a ratio
	// Now is the measured time converted to the present lengths, in ms; 0 while they are unknown.
	Now float64 `json:"now,omitempty"`
}

// Show returns what is known of the variants of a model, in their order, for requests with so many
// input tokens to compute and output tokens; 0 where that is unknown.
func Show(variants []scaling.Variant, fits map[scaling.VariantKey]memory.Fit, prompt, answer float64) []Shown {
	seen := fits
	fits = used(variants, fits)
	begin, anchor := beginnings(nil, variants, fits, prompt, answer)
	out := make([]Shown, len(variants))
	for i, v := range variants {
		out[i] = shown(v, begin[i].Belief, fits[v.Key], prompt, answer)
		if what, why, numbers := Refuted(seen[v.Key]); what != "" {
			out[i].Refuted = strings.TrimSuffix(why+": "+numbers, ": ")
		}
		// A variant with only a computed prior tells nothing of others.
		alone := i == anchor || anchor >= 0 && !variants[anchor].Profile.Usable() && !begin[anchor].shared && begin[anchor].now.samples == 0
		out[i].From = origin(v, begin[i], alone, anchor < 0, out[i].Samples)
		if from := out[i].From; from == LikeAnother || from == LearnedAfterLike {
			out[i].Like = variants[anchor].Key
		}
		if source, other := sources[out[i].From]; other && out[i].Profile.Source != "" {
			out[i].Profile.Source = source
		}
		if begin[i].shared {
			out[i].Namespaces = fits[v.Key].Shared.Namespaces
		}
		if computed, err := Computed(v, prompt, answer); err == nil {
			out[i].Computed = computed.String()
		}
		if out[i].From == Nowhere {
			out[i].Profile = scaling.Profile{}
			if out[i].Samples == 0 {
				out[i].Coefficients = nil
			}
		}
	}
	return out
}

// sources maps the origins of variants without samples of their own to the sources of their profiles.
var sources = map[Origin]string{LikeAnother: SourceOthers, IsShared: SourceShared, IsComputed: SourceComputed}

// origin returns where the knowledge of v comes from. alone says that it does not come from another
// variant, nothing that no variant is known, and samples counts the windows of its own replicas.
func origin(v scaling.Variant, begin beginning, alone, nothing bool, samples float64) Origin {
	switch {
	case v.Profile.Usable() && samples > 0:
		return LearnedAfterStated
	case begin.moved:
		return LikeAnother
	case v.Profile.Usable():
		return IsStated
	case nothing:
		return Nowhere
	case begin.shared && samples > 0:
		return LearnedAfterShared
	case begin.shared:
		return IsShared
	case alone && samples > 0:
		return IsLearned
	case alone:
		return IsComputed
	case samples > 0:
		return LearnedAfterLike
	}
	return LikeAnother
}

// shown returns what is known of v, from the belief before f and from f.
func shown(v scaling.Variant, prior Belief, f memory.Fit, prompt, answer float64) Shown {
	s := Shown{Variant: v.Key, At: f.At, Informed: f.Informed(), Prompt: prompt, Answer: answer}
	if v.Profile.Usable() {
		s.Stated = v.Profile
	}
	if !prior.After(f).sound() {
		f = memory.Fit{}
	}
	itl, ttft := appendITL(nil, f), appendTTFT(nil, f)
	s.step = prior.step.estimated(itl)
	s.first = afterStep(s.step.mean[2]).estimated(ttft)
	for _, b := range itl {
		s.Samples += b.Samples
	}
	if len(itl) > 0 {
		s.ITLScatter = s.step.scatter
	}
	if len(ttft) > 0 {
		s.TTFTScatter = s.first.scatter
	}
	s.Coefficients = coefficients(s.step, s.first)
	for _, b := range f.Bands {
		s.Bands = append(s.Bands, s.band(math.Exp2(float64(b.Of)), math.Exp2(float64(b.Of+1)), b.ITL, b.TTFT))
	}
	if over := f.Over; over.Samples > 0 {
		s.Bands = append(s.Bands, s.band(0, 0, over, memory.Sums{}))
	}
	if prompt > 0 && answer > 0 {
		s.Profile = Belief{step: s.step.linear, first: s.first.linear}.Profile(prompt, answer)
		s.Profile.MaxBatchSize = v.SizedBatch()
	}
	s.Doubts = append(s.Doubts, s.doubts(f)...)
	return s
}

// usualBands is the number of bands that most replicas are not seen in more of: as many sums stay
// on the stack.
const usualBands = 12

// appendITL appends the sums that f's law of a step is fitted to.
func appendITL(to []memory.Sums, f memory.Fit) []memory.Sums {
	for i := range f.Bands {
		if b := &f.Bands[i]; b.ITL.Samples > 0 {
			to = append(to, b.ITL)
		}
	}
	if !f.Informed() && f.Over.Samples > 0 {
		to = append(to, f.Over)
	}
	return to
}

// appendTTFT appends the sums that f's law of a TTFT is fitted to.
func appendTTFT(to []memory.Sums, f memory.Fit) []memory.Sums {
	for i := range f.Bands {
		if b := &f.Bands[i]; b.TTFT.Samples > 0 {
			to = append(to, b.TTFT)
		}
	}
	return to
}

func coefficients(step, first estimate) []Coefficient {
	out := []Coefficient{
		{Name: "a", Unit: "ms", Meaning: "a step, whatever it computes"},
		{Name: "b", Unit: "ms/request", Meaning: "each request that gets a token in the step"},
		{Name: "d", Unit: "ms/token", Meaning: "each token of a prompt in the step"},
		{Name: "c", Unit: "ms", Meaning: "before the first token, whatever is computed"},
		{Name: "e", Unit: "steps", Meaning: "until the first token: 1.5 times as many where a step runs, half as many where none does"},
		{Name: "f", Unit: "ms/token", Meaning: "each token of the own prompt"},
	}
	for i := range out {
		var x [3]float64
		x[i%3] = 1
		if out[i].Interval = step.at(x); i >= 3 {
			out[i].Interval = first.at(x)
		}
	}
	return out
}

// band returns what was seen in one band; from and to are 0 for an overload.
func (s Shown) band(from, to float64, itl, ttft memory.Sums) Seen {
	b := Seen{From: from, To: to, Overload: to == 0, ITL: fitted(s.step, itl), TTFT: fitted(s.first, ttft)}
	b.Concurrency, b.Tokens = itl.X1/itl.X0, itl.X2/itl.X0
	if s.Prompt > 0 && s.Answer > 0 {
		b.ITL.Now = b.ITL.Measured + s.step.mean[2]*(s.tokens(b.Concurrency)-b.Tokens)
		if b.TTFT.Samples > 0 {
			b.TTFT.Now = b.TTFT.Measured + dot(s.first.mean, s.firstAt(b.Concurrency, b.ITL.Now)) - b.TTFT.Fit
		}
	}
	return b
}

// fitted compares what was measured with the law.
func fitted(e estimate, s memory.Sums) Fitted {
	if !(s.Samples > 0) {
		return Fitted{}
	}
	measured, off := s.Samples/s.X0, above(e.mean, s)
	return Fitted{Samples: s.Samples, Measured: measured, Fit: (1 - off) * measured, Off: off, Scatter: math.Sqrt(misfit(e.mean, s))}
}

// tokens returns the mean number of input tokens that a step computes at a concurrency.
func (s Shown) tokens(concurrency float64) float64 {
	return alongside(concurrency) * s.Prompt / max(1, s.Answer-1)
}

// firstAt returns the regressors of a TTFT at a concurrency and an ITL in ms, for the prompts of s.
func (s Shown) firstAt(concurrency, itl float64) [3]float64 {
	decoding := alongside(concurrency)
	return firstOf(decoding, itl, s.step.mean[2]*s.tokens(concurrency)/max(tiny, itl), s.Prompt)
}

// ITL returns the expected mean ITL at a concurrency, in ms, with the present lengths.
func (s Shown) ITL(concurrency float64) Interval {
	return s.step.latency([3]float64{1, concurrency, s.tokens(concurrency)})
}

// TTFT returns the expected mean TTFT of a request that does not wait, in the same way.
func (s Shown) TTFT(concurrency float64) Interval {
	itl := s.ITL(concurrency)
	x := s.firstAt(concurrency, itl.Mean)
	out := s.first.latency(x)
	low, high, e := out.Mean-out.Low, out.High-out.Mean, s.first.mean[1]*x[1]/max(tiny, itl.Mean)
	out.Low = max(0, out.Mean-math.Hypot(low, e*(itl.Mean-itl.Low)))
	out.High = out.Mean + math.Hypot(high, e*(itl.High-itl.Mean))
	return out
}

// Highest returns about the highest concurrency that was seen, in requests; 0 for none.
func (s Shown) Highest() (most float64) {
	for _, b := range s.Bands {
		most = max(most, b.To, b.Concurrency)
	}
	return most
}

// doubts says what limits the conclusions from f.
func (s Shown) doubts(f memory.Fit) (out []string) {
	const joined = 0.95 // correlation
	if len(f.Bands) == 1 {
		b := s.Bands[0]
		out = append(out, fmt.Sprintf("only one band was seen, of %.0f to %.0f requests together: what is said of more and of fewer follows from what was believed before", b.From, b.To))
	}
	if cov := s.step.free.cov; f.Informed() && -cov[1][2] > joined*math.Sqrt(cov[1][1]*cov[2][2]) {
		out = append(out, "b and d cannot be told apart, since the lengths of the requests hardly change: rely on what both come to, not on each")
	}
	return out
}

// Lengths returns the mean lengths of the requests of a model, in tokens: prompt without the tokens
// found in the prefix cache, and answer. It returns false where no request was seen.
func Lengths(m memory.Means, now scaling.Load) (prompt, answer float64, known bool) {
	prompt, answer, known = m.Lengths()
	return prompt * (1 - min(1, now.PrefixHits.Or(0))), answer, known
}

// LengthsFor returns the same by the newest remembered lengths of the variants of a model, or by
// the present requests where none are remembered; 0 where neither is known.
func LengthsFor(remembered []memory.Means, now scaling.Load) (prompt, answer float64) {
	var newest memory.Means
	for _, m := range remembered {
		if m.At.After(newest.At) {
			newest = m
		}
	}
	prompt, answer, known := Lengths(newest, now)
	if !known && now.InputTokens.Known() && now.OutputTokens.Known() {
		prompt, _ = now.Computed()
		answer = now.OutputTokens.Value
	}
	return prompt, answer
}
