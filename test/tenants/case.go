package tenants

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
)

// Stock says which accelerators the hostile namespace shares with the honest ones.
type Stock string

// The kinds of Stock.
const (
	StockUnlimited Stock = "unlimited" // no limited mode
	StockApart     Stock = "apart"     // limited mode; the hostile namespace has accelerators of its own
	StockQuota     Stock = "quota"     // limited mode; all share accelerators, each namespace with a quota
	StockRank      Stock = "rank"      // limited mode; honest models have priority 1, hostile ones 90
)

// stocks returns every kind of Stock.
func stocks() []Stock { return []Stock{StockUnlimited, StockApart, StockQuota, StockRank} }

// The limits of a hostile namespace, as a ResourceQuota would set them.
const (
	mostVariants = 64 // except for the move crowd
	mostPods     = 64
	mostBytes    = 8 << 20 // of objects, pages excepted
	mostPages    = 1 << 20 // of all its pages together, as much as 64 honest pages
	evilQuota    = 16      // accelerators that its pods request where they are shared
)

// The numbers of honest variants: few, so that a case takes milliseconds, and the number for which
// the limits on time and memory are stated.
const (
	fewHonest  = 16
	manyHonest = 200
)

// Case is a cluster with a hostile namespace.
type Case struct {
	Honest int // variants of the honest namespaces, 1 to 1000
	Stock  Stock
	Trust  bool // the setting WVA_TRUST_NAMESPACES
	Moves  []Move
	Full   string // a key of the table of fills, "" for none
}

// Move is one thing that the hostile namespace has.
type Move struct {
	Kind string // a key of the table of moves
	Size int    // 1 to the most of its kind, which defines what it counts
	Seed uint64
}

// Draw returns the case of a seed. One case of eight has the number of honest variants for which
// the limits are stated.
func Draw(seed uint64) Case {
	random := rand.New(rand.NewPCG(seed, 17))
	c := Case{Honest: fewHonest, Stock: stocks()[random.IntN(len(stocks()))]}
	if random.IntN(8) == 0 {
		c.Honest = manyHonest
	}
	c.Trust = !c.shares() && random.IntN(2) == 0
	kinds := slices.Sorted(maps.Keys(moves()))
	for range 1 + random.IntN(6) {
		kind := kinds[random.IntN(len(kinds))]
		// The logarithm of the size is uniform: one, a few, very many.
		size := int(math.Exp(random.Float64() * math.Log(float64(moves()[kind].most)+1)))
		c.Moves = append(c.Moves, Move{kind, max(1, min(size, moves()[kind].most)), random.Uint64N(1 << 40)})
	}
	return c
}

// shares reports whether the hostile namespace and honest ones share limited accelerators.
func (c Case) shares() bool { return c.Stock == StockQuota || c.Stock == StockRank }

// Validate returns an error for a case that is not possible.
func (c Case) Validate() error {
	switch {
	case c.Honest < 1 || c.Honest > 1000:
		return fmt.Errorf("honest is %d: want 1 to 1000", c.Honest)
	case !slices.Contains(stocks(), c.Stock):
		return fmt.Errorf("stock is %q: want one of %v", c.Stock, stocks())
	case c.Trust && c.shares():
		return fmt.Errorf("trust is true and the stock %s: a namespace that is trusted may take from others", c.Stock)
	}
	if _, ok := fills()[c.Full]; c.Full != "" && !ok {
		return fmt.Errorf("full is %q: want one of %v", c.Full, slices.Sorted(maps.Keys(fills())))
	}
	for _, m := range c.Moves {
		of, ok := moves()[m.Kind]
		switch {
		case !ok:
			return fmt.Errorf("move %q: want one of %v", m.Kind, slices.Sorted(maps.Keys(moves())))
		case m.Size < 1 || m.Size > of.most:
			return fmt.Errorf("move %s has size %d: want 1 to %d", m.Kind, m.Size, of.most)
		}
	}
	return nil
}

// String returns the text that Parse reads.
func (c Case) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "honest %d\nstock %s\ntrust %t\n", c.Honest, c.Stock, c.Trust)
	if c.Full != "" {
		fmt.Fprintf(&b, "full %s\n", c.Full)
	}
	for _, m := range c.Moves {
		fmt.Fprintf(&b, "move %s %d %d\n", m.Kind, m.Size, m.Seed)
	}
	return b.String()
}

// Parse reads a case. Lines that begin with # are comments.
func Parse(text string) (Case, error) {
	var c Case
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, rest, _ := strings.Cut(line, " ")
		var err error
		switch name {
		case "honest":
			_, err = fmt.Sscanf(rest, "%d", &c.Honest)
		case "stock":
			c.Stock = Stock(rest)
		case "trust":
			_, err = fmt.Sscanf(rest, "%t", &c.Trust)
		case "full":
			c.Full = rest
		case "move":
			var m Move
			_, err = fmt.Sscanf(rest, "%s %d %d", &m.Kind, &m.Size, &m.Seed)
			c.Moves = append(c.Moves, m)
		default:
			err = errors.New("want honest, stock, trust, full or move")
		}
		if err != nil {
			return Case{}, fmt.Errorf("line %q: %w", line, err)
		}
	}
	return c, c.Validate()
}

// Reduce returns the smallest case that it finds for which fails is true, as it is for c: with
// fewer and smaller moves, and fewer honest variants. It calls fails at most asks times.
func Reduce(c Case, asks int, fails func(Case) bool) Case {
	for again := true; again; {
		again = false
		for _, smaller := range simpler(c) {
			if asks == 0 {
				return c
			}
			asks--
			if fails(smaller) {
				c, again = smaller, true
				break
			}
		}
	}
	return c
}

// simpler returns cases that are simpler than c, the largest steps first.
func simpler(c Case) []Case {
	var out []Case
	for i := range c.Moves {
		if len(c.Moves) > 1 {
			s := c
			s.Moves = slices.Delete(slices.Clone(c.Moves), i, i+1)
			out = append(out, s)
		}
	}
	if c.Honest > fewHonest {
		s := c
		s.Honest = fewHonest
		out = append(out, s)
	}
	for i, m := range c.Moves {
		for _, size := range []int{1, m.Size / 8, m.Size / 2} {
			if size > 0 && size < m.Size {
				s := c
				s.Moves = slices.Clone(c.Moves)
				s.Moves[i].Size = size
				out = append(out, s)
			}
		}
	}
	return out
}
