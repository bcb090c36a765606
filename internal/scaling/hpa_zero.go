package scaling

import "fmt"

// Release is a release of Kubernetes. The zero value is unknown.
type Release struct{ Major, Minor int }

// hpaZeroRelease is the first release whose feature gate HPAScaleToZero is on unless the cluster
// turns it off (k8s.io/kubernetes v1.37, pkg/features).
var hpaZeroRelease = Release{1, 37}

// String returns the release as 1.37, "" while unknown.
func (r Release) String() string {
	if r == (Release{}) {
		return ""
	}
	return fmt.Sprintf("%d.%d", r.Major, r.Minor)
}

// before reports whether r is an earlier release than other.
func (r Release) before(other Release) bool {
	return r.Major < other.Major || r.Major == other.Major && r.Minor < other.Minor
}

// HPAZero says whether a HorizontalPodAutoscaler of the cluster may have minReplicas 0, and so take
// its target to zero and back. The zero value is unknown.
type HPAZero struct {
	Known   bool
	May     bool
	Release Release // of the API server, zero while unknown
}

// HPAZeroOf returns whether the API server's release allows minReplicas 0. shown says that an
// object proves the feature gate HPAScaleToZero: a HorizontalPodAutoscaler with minReplicas 0 or
// with the condition ScaledToZero.
//
//	shown        release           may
//	yes          any               yes
//	not shown    1.37 and later    yes
//	not shown    before 1.37       no
//	not shown    not known         unknown
func HPAZeroOf(release Release, shown bool) HPAZero {
	out := HPAZero{Known: shown || release != Release{}, Release: release}
	out.May = out.Known && (shown || !release.before(hpaZeroRelease))
	return out
}
