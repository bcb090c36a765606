// Command release makes what a release consists of: the image of the manager for several
// architectures, archives of wva for several systems, the packaged chart, a list of the modules in
// every program (CycloneDX), a krew manifest and checksums. It needs Go and git, and no container
// runtime: an image on an empty base is a file in a layer.
//
// It also signs the origin of the files and verifies it: a Sigstore bundle of SLSA provenance,
// signed with the identity of the release workflow or with a key.
//
// The same commit gives the same bytes: times are those of the commit, and programs contain no
// paths of the machine.
package main
