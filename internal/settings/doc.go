// Package settings holds how one model is decided, fully resolved: the engine, its thresholds, the
// objective, and the pace of decisions.
//
// ModelSettings of internal/config are what users enter in ConfigMaps; their method Resolved makes
// a Model. The cycle reads one for each model, its engines and the simulator decide by it, and a
// record carries it, so that the cycle can be decided again.
package settings
