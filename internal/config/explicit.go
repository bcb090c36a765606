package config

// Explicit is what was set nearer to the process than a ConfigMap: by a flag, an
// environment variable or the file of --config-file. It wins.
type Explicit interface {
	// Lookup returns the value of a key as it was written, "" if it is not set,
	// and where it was set.
	Lookup(key string) (value, origin string, ok bool)
}

// Place is one of several places in which a key may be set, by the name of its
// environment variable.
type Place struct {
	Origin string // in words: "the environment"
	Lookup func(key string) (value string, ok bool)
}

// Places are places in the order in which they win. An empty value is not set.
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
