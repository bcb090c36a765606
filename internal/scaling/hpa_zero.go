package scaling

import "fmt"

// Release is a release of Kubernetes. The zero value is not known.
type Release struct{ Major, Minor int }

// hpaZeroRelease is the first whose feature gate HPAScaleToZero is on unless the
// cluster turns it off (k8s.io/kubernetes v1.37, pkg/features).
var hpaZeroRelease = Release{1, 37}

// String returns the release as 1.37, "" where it is not known.
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

// HPAZero is whether a HorizontalPodAutoscaler of the cluster may have minReplicas 0,
// and so take its target to zero and back. The zero value is not known.
type HPAZero struct {
	Known   bool
	May     bool
	Release Release // of the API server, zero where it is not known
}

// HPAZeroOf returns what is known of a cluster by the release of its API server, and by
// whether an object shows that its feature gate HPAScaleToZero is on: a
// HorizontalPodAutoscaler that has minReplicas 0 or the condition ScaledToZero.
//
//	shown        release           may
//	yes          any               yes
//	not shown    1.37 and later    yes
//	not shown    before 1.37       no
//	not shown    not known         not known
func HPAZeroOf(release Release, shown bool) HPAZero {
	out := HPAZero{Known: shown || release != Release{}, Release: release}
	out.May = out.Known && (shown || !release.before(hpaZeroRelease))
	return out
}
