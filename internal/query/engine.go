package query

// Engine is a kind of serving engine.
type Engine string

// The engines.
const (
	VLLM   Engine = "vllm"
	SGLang Engine = "sglang"
)

// engine is what the catalogue knows of an engine.
type engine struct {
	// own is the prefix of the engine's names that Prefixes stand in the place of, ""
	// where its names are always its own.
	own     string
	witness string
	ranks   []string
	recipes func() map[Quantity]Recipe
}

func (e Engine) engine() engine {
	switch e {
	case VLLM:
		return engine{own: vllmOwn, witness: vllmRunning, ranks: []string{"engine"}, recipes: vllm}
	case SGLang:
		return engine{witness: sglangRunning, ranks: []string{"dp_rank"}, recipes: sglang}
	default:
		return engine{recipes: func() map[Quantity]Recipe { return nil }}
	}
}

// Engines returns every engine, in the order in which they stand in an
// expression.
func Engines() []Engine { return []Engine{VLLM, SGLang} }

// Witness returns the name of the series that every page of e carries, as e itself
// calls it: where it is, the page is alive, and what is missing there is missing on
// purpose. It is "" for an engine that is not in the catalogue.
func (e Engine) Witness() string { return e.engine().witness }

// Witnesses returns the names that Witness may have, the preferred first. It is nil for
// an engine that is not in the catalogue.
func (e Engine) Witnesses(prefixes Prefixes) []string {
	of := e.engine()
	if of.witness == "" {
		return nil
	}
	return prefixes.orDefault().of(of.own, []string{of.witness})
}

// Ranks returns the labels that tell apart the parts of one pod that hold
// different requests. Series of a pod that differ in other labels of the engine
// repeat each other.
func (e Engine) Ranks() []string { return e.engine().ranks }

// RecipeOf returns how q is made of the series of e, whose names may have any of the
// prefixes. It reports false for what no series of e tells: PageTime and ScrapeInterval
// are the times of Witness, and the quantities of a gateway are in Gateway.
func RecipeOf(e Engine, q Quantity, prefixes Prefixes) (Recipe, bool) {
	of := e.engine()
	recipe, ok := of.recipes()[q]
	return prefixes.orDefault().renamed(of.own, recipe), ok
}
