package exact

// A search decides the groups of an instance in stages, each a program:
//
//  1. Class by class, the most important first: how few of its groups must be
//     left out when every class before may leave out only as many as it must?
//     A class that is served whole is settled.
//  2. The least cost when every class may leave out as many as it must.
//
// Each stage has a quota of work; if it is too small, the stages are repeated with a larger one.
type search struct {
	in     *instance
	gap    float64
	effort *effort

	able  []int   // groups that could be served alone, in canonical order
	class []int   // class of each group of able
	known [][]int // the best solution: counts by canonical group, nil if unserved

	least []int   // proven: groups of able that must be left out, by class
	bound float64 // proven cost of all of able, see Solution.Bound
}

// The first quota, in group problems for each group, suffices for a relaxation and the search for
// solutions around it; each later one is quotaFactor times the one before.
const (
	firstQuota  = 150
	quotaFactor = 4
)

func newSearch(in *instance, params Params) *search {
	s := &search{
		in: in, gap: params.Gap, effort: newEffort(params),
		known: make([][]int, len(in.groups)), least: make([]int, len(in.classes)),
	}
	none := make([]float64, len(in.stock))
	c := s.effort.coverer()
	for q, class := range in.classes {
		for i := class.first; i < class.end; i++ {
			g := &in.groups[i]
			fits := g.fits(&c, none, in.stock)
			if s.effort.spend(&c, fits); fits {
				s.able = append(s.able, i)
				s.class = append(s.class, q)
			}
		}
	}
	return s
}

// run improves known until it is proven to the gap or the effort is spent.
func (s *search) run() {
	quota := firstQuota * (1 + len(s.able))
	s.admit()
	s.serveClasses(quota)
	for !s.save(quota) || !s.covered() {
		if s.effort.spent() {
			break
		}
		quota *= quotaFactor
		if !s.covered() {
			s.serveClasses(quota)
		}
	}
	if !s.covered() {
		s.admit()
	}
}

// serveClasses is stage 1.
func (s *search) serveClasses(quota int) {
	for q := range s.in.classes {
		s.effort.begin(quota)
		s.serveClass(q)
	}
}

// without counts the groups of able in the first classes that known leaves out.
func (s *search) without(classes int) int {
	n := 0
	for k, i := range s.able {
		if s.class[k] < classes && s.known[i] == nil {
			n++
		}
	}
	return n
}

// out counts the groups of able in the class that known leaves out.
func (s *search) out(q int) int { return s.without(q+1) - s.without(q) }

// covered reports whether the coverage of all classes is proven to the gap.
func (s *search) covered() bool {
	for q := range s.in.classes {
		if float64(s.out(q)-s.least[q]) > s.gap*float64(len(s.in.groups)) {
			return false
		}
	}
	return true
}

// admit serves unserved groups that fit into the remaining stock, the most important first, each as
// cheaply as possible.
func (s *search) admit() {
	room := append([]int(nil), s.in.stock...)
	for i, counts := range s.known {
		s.in.groups[i].take(room, counts)
	}
	none := make([]float64, len(room))
	c := s.effort.coverer()
	for _, i := range s.able {
		if g := &s.in.groups[i]; s.known[i] == nil && g.fits(&c, none, room) {
			s.known[i] = append(make([]int, 0, len(c.found)), c.found...)
			g.take(room, s.known[i])
		}
	}
}
