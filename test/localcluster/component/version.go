package component

import (
	"fmt"
	"runtime/debug"
	_ "unsafe" // for the go:linkname below

	"k8s.io/component-base/version"
)

// gitVersion is the version that the parts of Kubernetes report. Its release
// builds set it with a linker flag; setting it here keeps a plain "go build" right.
//
//go:linkname gitVersion k8s.io/component-base/version.gitVersion
var gitVersion string

// reportVersion makes the parts of Kubernetes report the version of the module
// k8s.io/kubernetes that they were built from.
func reportVersion() error {
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return fmt.Errorf("reading the build information of the binary: there is none")
	}
	for _, module := range build.Deps {
		if module.Path == "k8s.io/kubernetes" {
			gitVersion = module.Version
			return version.SetDynamicVersion(module.Version)
		}
	}
	return fmt.Errorf("reading the build information of the binary: k8s.io/kubernetes is not in it")
}
