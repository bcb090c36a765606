// Package faulty stands between a client and a metrics store and goes wrong when told to: it
// refuses connections, answers with errors, late, for every other query, with nothing, or with far
// too much.
package faulty
