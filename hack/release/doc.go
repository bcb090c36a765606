// Command release makes what a release consists of: the image of the manager for
// several architectures, archives of wva for several systems, the packaged chart,
// a list of the modules in every program (CycloneDX), a krew manifest and
// checksums. It needs Go and git, and no container runtime: an image on an empty
// base is a file in a layer.
//
// It signs where the files come from too, and verifies it: a Sigstore bundle of SLSA
// provenance, signed with the identity of the release workflow or with a key.
//
// The same commit gives the same bytes: times are those of the commit, and paths of
// the machine are not in the programs.
package main
