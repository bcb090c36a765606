package archtest

import (
	"path"
	"slices"
	"strings"
	"testing"
)

// module is the path of the main module.
const module = "github.com/llm-d-incubation/workload-variant-autoscaler"

// layers names every room and its layer; the longest prefix wins. A package
// imports packages of lower layers and of its own room, and nothing else of this
// module; sharedNouns are the exception.
var layers = map[string]int{
	"api":    0,
	"config": 0,
	"pkg":    0,

	"internal/budget":     1,
	"internal/exposition": 1,
	"internal/goldentest": 1,
	"internal/query":      1,
	"internal/race":       1,
	"internal/scaling":    1,
	"internal/spelling":   1,
	"internal/version":    1,

	"internal/constrain":  2,
	"internal/explain":    2,
	"internal/queueing":   2,
	"internal/optimizer":  2,
	"internal/saturation": 2,
	"internal/schedule":   2,
	"internal/shadow":     2,
	"internal/serving":    2,
	"internal/workload":   2,

	"internal/config":   3,
	"internal/ledger":   3,
	"internal/logging":  3,
	"internal/metrics":  3,
	"internal/record":   3,
	"internal/settings": 3,

	"internal/certificate": 4,
	"internal/engines":     4,
	"internal/history":     4,
	"internal/scale":       4,
	"internal/throttle":    4,

	"internal/access":     5,
	"internal/actuator":   5,
	"internal/collector":  5,
	"internal/console":    5,
	"internal/controller": 5,
	"internal/dashboard":  5,
	"internal/discovery":  5,
	"internal/doctor":     5,
	"internal/emulator":   5,
	"internal/exported":   5,
	"internal/loadgen":    5,
	"internal/sim":        5,
	"internal/store":      5,
	"internal/web":        5,

	"cmd":               6,
	"hack":              6,
	"internal/archtest": 6,
	"test":              6,
}

// sharedNouns are rooms that the others of their layer may import, because each of these would
// otherwise need a copy of the same type. Such a room imports lower layers only. The configuration
// makes what internal/settings holds, and a record carries it.
var sharedNouns = []string{"internal/settings"}

// libraries lists, by room and by layer, the modules from outside that may be
// imported; the room decides where it is named. Layers 5 and 6 are free.
var (
	roomLibraries = map[string][]string{
		"api":    {"k8s.io/apimachinery"},
		"config": {},
		// A noun, without a format of its own.
		"internal/settings": {},
		// What Kubernetes' own servers sign and follow their certificates with.
		"internal/certificate": {"k8s.io/client-go", "sigs.k8s.io/controller-runtime"},
		// The scale subresource, for the two rooms of the layer above that use it.
		"internal/scale": {"k8s.io/api", "k8s.io/apimachinery", "sigs.k8s.io/controller-runtime"},
	}
	layerLibraries = map[int][]string{
		0: {"gonum.org/v1/gonum", "sigs.k8s.io/yaml"},
		1: {},
		2: {"gonum.org/v1/gonum"},
		3: {"github.com/go-logr/logr", "github.com/prometheus/client_golang", "go.yaml.in/yaml/v3", "k8s.io/apimachinery", "sigs.k8s.io/yaml"},
		4: {"github.com/go-logr/logr", "golang.org/x/sync", "k8s.io/utils/clock"},
	}
)

// publicOrder ranks the public packages: each imports only those of lower rank.
var publicOrder = map[string]int{"pkg/analyzer": 1, "pkg/config": 1, "pkg/core": 2, "pkg/solver": 3, "pkg/manager": 4}

// impure lists what the decision core never imports from the standard library:
// no network, no logger, no files or environment, no ambient randomness. The
// generators of math/rand/v2 are passed in, so that package is allowed.
var impure = []string{"net", "log", "os", "syscall", "math/rand", "crypto/rand"}

// vagueNames say nothing about what is inside.
var vagueNames = []string{
	"base", "common", "constants", "helper", "helpers", "interfaces", "misc", "types", "util", "utils", "v2",
}

// forbidden says why package from may not import imp, or returns "". A package
// of this module is given without the module's path in from, and with it in imp;
// nested lists the paths of other modules within this repository.
func forbidden(from, imp string, nested ...string) string {
	at, ok := layer(from)
	if !ok {
		return from + " has no layer; give the package a home in layers"
	}
	if slices.ContainsFunc(nested, func(m string) bool { return below(imp, m) }) {
		return "modules of this repository do not import each other"
	}
	to, local := strings.CutPrefix(imp, module+"/")
	switch {
	case local:
		return forbiddenLocal(from, to, at)
	case isStandard(imp):
		return forbiddenStandard(from, imp, at)
	default:
		return forbiddenLibrary(from, imp, at)
	}
}

func forbiddenLocal(from, to string, at int) string {
	toLayer, ok := layer(to)
	switch {
	case !ok:
		return to + " has no layer; give the package a home in layers"
	case isTestSupport(to) && !isTestSupport(from) && !below(from, "test"):
		return "test support is for tests"
	case room(from) == room(to):
		return ""
	case below(from, "pkg") && below(to, "pkg"):
		if publicOrder[room(to)] < publicOrder[room(from)] {
			return ""
		}
		return "public packages build on each other in one order: analyzer, config; core; solver; manager"
	case below(from, "pkg") && !below(to, "pkg"):
		return "public packages import no other package of this module"
	case isCore(from, at) && !below(to, "pkg") && toLayer == 0:
		return "the decision core does not see the API types"
	case at == 1:
		return "the nouns import the standard library only"
	case toLayer > at:
		return "layers point downwards"
	case toLayer == at && slices.Contains(sharedNouns, room(to)) && !slices.Contains(sharedNouns, room(from)):
		return ""
	case toLayer == at && at == 5:
		return "adapters meet only in cmd"
	case toLayer == at:
		return "rooms of one layer do not import each other"
	}
	return ""
}

func forbiddenStandard(from, imp string, at int) string {
	switch {
	case isTestSupport(from):
		return ""
	case isCore(from, at) && imp != "math/rand/v2" && within(impure, imp):
		return "the decision core is pure"
	case below(from, "internal/engines") && below(imp, "net/http"):
		return "engines reach the cluster through ports"
	}
	return ""
}

func forbiddenLibrary(from, imp string, at int) string {
	if imp == "C" {
		return "the module builds without a C compiler"
	}
	allowed, limited := roomLibraries[room(from)]
	if !limited {
		allowed, limited = layerLibraries[at]
	}
	switch {
	case !limited || within(allowed, imp):
		return ""
	case isTestSupport(from) && below(imp, "github.com/google/go-cmp"):
		return ""
	case isCore(from, at):
		return "the decision core is pure"
	case at == 4:
		return "engines reach the cluster through ports"
	}
	return "not one of the libraries of its layer"
}

// isCore reports whether a package computes decisions or is public: layers 1 and
// 2, and pkg.
func isCore(pkg string, at int) bool {
	return at == 1 || at == 2 || below(pkg, "pkg")
}

// isTestSupport reports whether a package supports tests in the manner of
// net/http/httptest, as goldentest does.
func isTestSupport(pkg string) bool {
	return strings.HasSuffix(path.Base(pkg), "test")
}

// isStandard reports whether an import path belongs to the standard library: its
// first element has no dot.
func isStandard(imp string) bool {
	first, _, _ := strings.Cut(imp, "/")
	return !strings.Contains(first, ".") && imp != "C"
}

// within reports whether imp is one of the packages or lies below one.
func within(pkgs []string, imp string) bool {
	return slices.ContainsFunc(pkgs, func(p string) bool { return below(imp, p) })
}

// below reports whether pkg is prefix or lies below it.
func below(pkg, prefix string) bool {
	rest, ok := strings.CutPrefix(pkg, prefix)
	return ok && (rest == "" || rest[0] == '/')
}

// layer returns the layer of a package of this module and whether it has one.
func layer(pkg string) (n int, ok bool) {
	longest := -1
	for prefix, l := range layers {
		if below(pkg, prefix) && len(prefix) > longest {
			longest, n, ok = len(prefix), l, true
		}
	}
	return n, ok
}

// room maps a package to the room it is in: internal/collector/prometheus to
// internal/collector, cmd/wva to cmd.
func room(pkg string) string {
	first, rest, _ := strings.Cut(pkg, "/")
	switch first {
	case "internal", "pkg":
		second, _, _ := strings.Cut(rest, "/")
		return path.Join(first, second)
	}
	return first
}

func TestImportDirections(t *testing.T) {
	tree := readTree(t)
	for _, f := range tree.files {
		if f.test {
			continue
		}
		for _, imp := range f.imports() {
			if why := forbidden(f.pkg, imp, tree.nested...); why != "" {
				t.Errorf("%s imports %s: %s", f.name, imp, why)
			}
		}
	}
}

// observers are modules that hold tests of the main module, apart from it because
// of what they need. They import it, and nothing imports them.
var observers = []string{module + "/test/browser", module + "/test/chart", module + "/test/promql"}

func TestOtherModulesStandAlone(t *testing.T) {
	tree := readTree(t)
	for _, f := range tree.foreign {
		if slices.Contains(observers, f.module) {
			continue
		}
		for _, imp := range f.imports() {
			if below(imp, module) && !below(imp, f.module) {
				t.Errorf("%s imports %s: modules of this repository do not import each other", f.name, imp)
			}
		}
	}
}

func TestNoDrawers(t *testing.T) {
	for _, pkg := range readTree(t).packages() {
		if word := drawer(pkg); word != "" {
			t.Errorf("%s: %q is a drawer, not an idea; name the package after what it holds", pkg, word)
		}
	}
}

// drawer returns the first element of a package's path that says nothing about
// what is inside, or "".
func drawer(pkg string) string {
	for word := range strings.SplitSeq(pkg, "/") {
		if slices.Contains(vagueNames, word) {
			return word
		}
	}
	return ""
}

// TestForbidden keeps the law itself honest: a rule that no longer refuses
// anything fails here.
func TestForbidden(t *testing.T) {
	const (
		ok  = ""
		own = module + "/"
	)
	tests := []struct{ from, imp, want string }{
		{"pkg/core", own + "pkg/analyzer", ok},
		{"pkg/core", own + "pkg/config", ok},
		{"pkg/manager", own + "pkg/solver", ok},
		{"pkg/config", "sigs.k8s.io/yaml", ok},
		{"pkg/analyzer", "gonum.org/v1/gonum/optimize", ok},
		{"pkg/analyzer", own + "pkg/config", "public packages build on each other in one order: analyzer, config; core; solver; manager"},
		{"pkg/core", own + "pkg/solver", "public packages build on each other in one order: analyzer, config; core; solver; manager"},
		{"pkg/core", own + "internal/scaling", "public packages import no other package of this module"},
		{"pkg/core", own + "api/v1alpha1", "public packages import no other package of this module"},
		{"pkg/solver", "k8s.io/api/core/v1", "the decision core is pure"},
		{"pkg/solver", "log/slog", "the decision core is pure"},

		{"api/v1alpha1", "k8s.io/apimachinery/pkg/runtime", ok},
		{"api/v1alpha1", "k8s.io/client-go/rest", "not one of the libraries of its layer"},
		{"api/v1alpha1", own + "internal/scaling", "layers point downwards"},
		{"config/crd", "embed", ok},
		{"config/crd", "sigs.k8s.io/yaml", "not one of the libraries of its layer"},

		{"internal/scaling", "time", ok},
		{"internal/scaling", own + "pkg/config", "the nouns import the standard library only"},
		{"internal/query", own + "internal/scaling", "the nouns import the standard library only"},
		{"internal/query", "os", "the decision core is pure"},
		{"internal/scaling/scalingtest", own + "internal/scaling", ok},
		{"internal/scaling/scalingtest", "os", ok},

		{"internal/optimizer", own + "pkg/solver", ok},
		{"internal/saturation", own + "internal/query", ok},
		{"internal/workload", "math/rand/v2", ok},
		{"internal/workload", "math/rand", "the decision core is pure"},
		{"internal/serving", "crypto/rand", "the decision core is pure"},
		{"internal/saturation", "net/http", "the decision core is pure"},
		{"internal/constrain", "k8s.io/utils/clock", "the decision core is pure"},
		{"internal/explain", "github.com/prometheus/client_golang/prometheus", "the decision core is pure"},
		{"internal/explain", own + "api/v1alpha1", "the decision core does not see the API types"},
		{"internal/optimizer", own + "internal/constrain", "rooms of one layer do not import each other"},
		{"internal/optimizer", own + "internal/engines/cycle", "layers point downwards"},
		{"internal/saturation", own + "internal/scaling/scalingtest", "test support is for tests"},

		{"internal/metrics", "github.com/prometheus/client_golang/prometheus", ok},
		{"internal/logging", "log/slog", ok},
		{"internal/config", own + "api/v1alpha1", ok},
		{"internal/config", "k8s.io/client-go/kubernetes", "not one of the libraries of its layer"},
		{"internal/ledger", own + "internal/config", "rooms of one layer do not import each other"},
		{"internal/config", own + "internal/settings", ok},
		{"internal/record", own + "internal/settings", ok},
		{"internal/settings", own + "internal/constrain", ok},
		{"internal/settings", own + "internal/config", "rooms of one layer do not import each other"},
		{"internal/settings", "sigs.k8s.io/yaml", "not one of the libraries of its layer"},
		{"internal/constrain", own + "internal/settings", "layers point downwards"},

		{"internal/engines/executor", "k8s.io/utils/clock", ok},
		{"internal/engines/saturation", own + "internal/engines/cycle", ok},
		{"internal/engines/cycle", own + "internal/config", ok},
		{"internal/engines/cycle", own + "internal/collector", "layers point downwards"},
		{"internal/engines/cycle", "k8s.io/api/apps/v1", "engines reach the cluster through ports"},
		{"internal/engines/model", "k8s.io/client-go/rest", "engines reach the cluster through ports"},
		{"internal/engines/model", "github.com/prometheus/common/model", "engines reach the cluster through ports"},
		{"internal/engines/model", "sigs.k8s.io/controller-runtime", "engines reach the cluster through ports"},
		{"internal/engines/model", "net/http/httptrace", "engines reach the cluster through ports"},

		{"internal/collector/prometheus", own + "internal/collector/cache", ok},
		{"internal/actuator", "k8s.io/client-go/scale", ok},
		{"internal/sim", own + "internal/engines/cycle", ok},
		{"internal/actuator", own + "internal/discovery", "adapters meet only in cmd"},
		{"internal/loadgen", own + "internal/emulator", "adapters meet only in cmd"},
		{"internal/web", own + "cmd/wva", "layers point downwards"},

		{"cmd/manager", own + "internal/controller", ok},
		{"test/e2e", own + "internal/collector/collectortest", ok},
		{"cmd/manager", own + "internal/collector/collectortest", "test support is for tests"},
		{"test/e2e", own + "test/localcluster", "modules of this repository do not import each other"},
		{"hack/gobuild", "os/exec", ok},
		{"hack/gobuild", "C", "the module builds without a C compiler"},

		{"internal/interfaces", "time", "internal/interfaces has no layer; give the package a home in layers"},
		{"cmd/wva", own + "internal/utils", "internal/utils has no layer; give the package a home in layers"},
	}
	for _, tt := range tests {
		if got := forbidden(tt.from, tt.imp, own+"test/localcluster"); got != tt.want {
			t.Errorf("%s imports %s: got %q, want %q", tt.from, tt.imp, got, tt.want)
		}
	}
}

func TestDrawer(t *testing.T) {
	tests := map[string]string{
		"internal/utils":          "utils",
		"internal/engines/common": "common",
		"pkg/analyzer":            "",
		"internal/logging":        "",
	}
	for pkg, want := range tests {
		if got := drawer(pkg); got != want {
			t.Errorf("%s: got %q, want %q", pkg, got, want)
		}
	}
}
