package engineargs

import (
	"math"
	"strconv"
	"strings"
)

// flag says how to read one flag. set stores a value, and reports whether it is acceptable.
type flag struct {
	alone bool // a flag that needs no value
	set   func(a *Arguments, value string) bool
}

// flags are those that are read, by name; short names are those of vLLM.
var flags = map[string]flag{
	"gpu-memory-utilization": {set: func(a *Arguments, v string) bool {
		n, err := strconv.ParseFloat(v, 64)
		ok := err == nil && n > 0 && n <= 1
		if ok {
			a.GPUMemoryUtilization = n
		}
		return ok
	}},
	"block-size":                {set: count(func(a *Arguments) *int { return &a.BlockSize })},
	"num-gpu-blocks-override":   {set: count(func(a *Arguments) *int { return &a.BlocksOverride })},
	"max-model-len":             {set: count(func(a *Arguments) *int { return &a.MaxModelLength })},
	"max-num-batched-tokens":    {set: count(func(a *Arguments) *int { return &a.MaxBatchedTokens })},
	"max-num-seqs":              {set: count(func(a *Arguments) *int { return &a.MaxSequences })},
	"tensor-parallel-size":      {set: count(func(a *Arguments) *int { return &a.TensorParallelSize })},
	"tp":                        {set: count(func(a *Arguments) *int { return &a.TensorParallelSize })},
	"kv-cache-dtype":            {set: func(a *Arguments, v string) bool { a.KVCacheType = v; return v != "" }},
	"model":                     {set: text(func(a *Arguments) *string { return &a.Model })},
	"quantization":              {set: text(func(a *Arguments) *string { return &a.Quantization })},
	"q":                         {set: text(func(a *Arguments) *string { return &a.Quantization })},
	"dtype":                     {set: text(func(a *Arguments) *string { return &a.Type })},
	"enable-chunked-prefill":    {alone: true, set: truth(true, func(a *Arguments) *bool { return &a.ChunkedPrefill })},
	"no-enable-chunked-prefill": {alone: true, set: truth(false, func(a *Arguments) *bool { return &a.ChunkedPrefill })},
	"enforce-eager":             {alone: true, set: truth(true, func(a *Arguments) *bool { return &a.EnforceEager })},
	"no-enforce-eager":          {alone: true, set: truth(false, func(a *Arguments) *bool { return &a.EnforceEager })},
}

// count reads a whole number of 1 or more.
func count(at func(*Arguments) *int) func(*Arguments, string) bool {
	return func(a *Arguments, value string) bool {
		n, ok := whole(value)
		if ok {
			*at(a) = n
		}
		return ok
	}
}

// longestText is the largest stored length of an argument: names of models have at most 96
// characters on Hugging Face, and paths few more.
const longestText = 256

// text reads a text that is not empty. It ignores one that is too long.
func text(at func(*Arguments) *string) func(*Arguments, string) bool {
	return func(a *Arguments, value string) bool {
		if len(value) <= longestText {
			*at(a) = value
		}
		return value != ""
	}
}

// truth reads a flag without a value, or with true or false after an equals sign.
func truth(alone bool, at func(*Arguments) *bool) func(*Arguments, string) bool {
	return func(a *Arguments, value string) bool {
		switch strings.ToLower(value) {
		case "", "true", "1":
			*at(a) = alone
		case "false", "0":
			*at(a) = !alone
		default:
			return false
		}
		return true
	}
}

// multiples are the suffixes of numbers: lower case means powers of 1000, upper case powers of
// 1024.
var multiples = map[byte]float64{
	'k': 1e3, 'm': 1e6, 'g': 1e9, 't': 1e12,
	'K': 1 << 10, 'M': 1 << 20, 'G': 1 << 30, 'T': 1 << 40,
}

// whole reads a number of 1 to 2^31-1, such as 4096, 4k or 4.5K.
func whole(text string) (int, bool) {
	if text == "" {
		return 0, false
	}
	factor, digits := 1.0, text
	if m, ok := multiples[text[len(text)-1]]; ok {
		factor, digits = m, text[:len(text)-1]
	}
	n, err := strconv.ParseFloat(digits, 64)
	n = math.Floor(n * factor)
	if err != nil || !(n >= 1 && n <= math.MaxInt32) {
		return 0, false
	}
	return int(n), true
}

// split splits a command for a shell into words: the word after -c, with quotes and backslashes as
// a shell reads them.
func split(words []string) []string {
	out := make([]string, 0, len(words))
	for i, w := range words {
		if i > 0 && isShellFlag(words[i-1]) {
			out = append(out, shellWords(w)...)
			continue
		}
		out = append(out, w)
	}
	return out
}

// isShellFlag reports whether a word is the -c of a shell, alone or with other flags such as -lc.
func isShellFlag(w string) bool {
	return len(w) >= 2 && w[0] == '-' && w[1] != '-' && strings.HasSuffix(w, "c") && !strings.ContainsAny(w, "= ")
}

// shellWords splits a line at blanks and at the separators ;, & and | outside of quotes.
func shellWords(line string) []string {
	var out []string
	var word strings.Builder
	begun := false
	quote := rune(0)
	escaped := false
	end := func() {
		if begun {
			out = append(out, word.String())
		}
		word.Reset()
		begun = false
	}
	for _, r := range line {
		switch {
		case escaped:
			if r != '\n' { // a continued line
				word.WriteRune(r)
				begun = true
			}
			escaped = false
		case r == '\\' && quote != '\'':
			escaped = true
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, begun = r, true
		case strings.ContainsRune(" \t\n;&|", r):
			end()
		default:
			word.WriteRune(r)
			begun = true
		}
	}
	end()
	return out
}
