package config

// Explicit holds what a flag, an environment variable or the file of --config-file set. It wins
// over ConfigMaps.
type Explicit interface {
	// Lookup returns the value of a key as it was written, and the place that set it. ok is false,
	// and value "", if the key is not set.
	Lookup(key string) (value, origin string, ok bool)
}

// Place is one of several places that may set a key. Lookup takes the name of its environment
// variable.
type Place struct {
	Origin string // in words: "the environment"
	Lookup func(key string) (value string, ok bool)
}

// Places are in the order in which they win. An empty value counts as not set.
type Places []Place

var _ Explicit = Places{}

// Lookup returns the value in the first place that has one.
func (p Places) Lookup(key string) (value, origin string, ok bool) {
	for _, place := range p {
		if value, ok := place.Lookup(key); ok && value != "" {
			return value, place.Origin, true
		}
	}
	return "", "", false
}
