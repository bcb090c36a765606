package loadgen

import (
	"math/rand/v2"
	"strconv"
	"strings"
)

// prompts makes prompts of a given number of words. They are short English words, so that a real
// tokenizer makes about one token of each.
type prompts struct {
	words []string
}

func newPrompts() prompts {
	return prompts{words: strings.Fields(`the of and to in is that for it as was with be by on not he
		his but at are this have from or had an they which one you were all her she there would their
		we him been has when who will no more if out so up said what its about than into them can only
		other time new some could these two may first then do any like my now over such our man me even
		most made after also did many off before must well back through years much where your way down
		should because long each just state those people too mr how little good world make very year
		still see own work men day get here old life both between being under three never know same last`)}
}

// text returns a prompt of n words, n >= 1, for the request with this number.
// The first word is unique, and the others are drawn at random, so that no two
// prompts share a prefix that a server could have cached.
func (p prompts) text(n int, seed, number uint64) string {
	rng := rand.New(rand.NewPCG(seed, number))
	var b strings.Builder
	b.Grow(6 * n)
	b.WriteString(strconv.FormatUint(number, 36) + "-" + strconv.FormatUint(seed, 36))
	for range n - 1 {
		b.WriteByte(' ')
		b.WriteString(p.words[rng.IntN(len(p.words))])
	}
	return b.String()
}
