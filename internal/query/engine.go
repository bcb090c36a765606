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
	// own is the prefix of the engine's names that Prefixes replace, "" where its names never
	// change.
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

// Engines returns every engine, in the order of an expression.
func Engines() []Engine { return []Engine{VLLM, SGLang} }

// Witness returns the name of the series that every page of e carries, as e itself calls it: where
// it exists, the page is alive, and series that the page lacks do not exist. It is "" for an engine
// that is not in the catalogue.
func (e Engine) Witness() string { return e.engine().witness }

// Witnesses returns the names that the witness may have, the preferred first. It is nil for an
// engine that is not in the catalogue.
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

// RecipeOf returns the recipe of q for e, with the names of its series under each of the prefixes.
// It reports false where e has no recipe: PageTime and ScrapeInterval are times of the witness, and
// the quantities of a gateway are in Gateway.
func RecipeOf(e Engine, q Quantity, prefixes Prefixes) (Recipe, bool) {
	of := e.engine()
	recipe, ok := of.recipes()[q]
	return prefixes.orDefault().renamed(of.own, recipe), ok
}
