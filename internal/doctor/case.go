package doctor

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Case is the state that was read from a cluster and its manager, together with manifests that are
// not applied yet. Diagnose does not modify it.
type Case struct {
	Now time.Time
	// Pre says that the manager is not installed yet: Diagnose only checks for obstacles to the
	// installation.
	Pre bool
	// System is the namespace of the manager.
	System string
	// Missed holds the reads that failed.
	Missed map[Read]Missed

	Server     string // version of the API server, "" for unknown
	Definition Definition
	Denied     []Right // rights that the user lacks for an installation (Pre)

	Lease    Lease
	Managers []Manager    // the Deployments of managers with replicas
	Pods     []corev1.Pod // of the managers
	Account  string       // the manager's service account, namespace/name; "" for unknown
	Lacks    []Right      // rights that the account lacks
	Answer   Answer
	Clocks   Clocks

	Namespaces map[string]corev1.Namespace // by name; nil where the read failed
	Config     Config
	API        APIService
	Monitors   []Monitor
	Services   []corev1.Service
	// ServingPods are the pods of the checked namespaces.
	ServingPods []corev1.Pod
	Policies    []networkingv1.NetworkPolicy
	Prometheus  Source

	Variants []Variant // sorted by key

	Left  []Leftover // objects of probes, also of a running one
	Probe *Probe     // nil without a probe
}

// Read is a kind of state that is read from a cluster.
type Read string

// The kinds of state.
const (
	ReadServer      Read = "the API server"
	ReadDefinition  Read = "the CustomResourceDefinition"
	ReadVariants    Read = "VariantAutoscalings"
	ReadLease       Read = "the lease of the manager"
	ReadManagers    Read = "the Deployments of managers"
	ReadManagerPods Read = "the pods of managers"
	ReadRights      Read = "the rights of the manager"
	ReadAnswer      Read = "the decisions of the manager"
	ReadNamespaces  Read = "Namespaces"
	ReadConfig      Read = "ConfigMaps"
	ReadWorkloads   Read = "Deployments and StatefulSets"
	ReadPods        Read = "pods"
	ReadHPAs        Read = "HorizontalPodAutoscalers"
	ReadKEDA        Read = "ScaledObjects"
	ReadAPIService  Read = "the API service of External Metrics"
	ReadMonitors    Read = "ServiceMonitors and PodMonitors"
	ReadServices    Read = "Services"
	ReadPolicies    Read = "NetworkPolicies"
	ReadOwnRights   Read = "the rights of the user"
)

// Missed says why a read failed.
type Missed struct {
	Why   string
	Right string // the missing right, as for kubectl auth can-i: "list pods"; "" for another cause
}

// Definition is the CustomResourceDefinition of VariantAutoscaling.
type Definition struct {
	Absent bool
	Older  string // what shows that it is older than this version, "" where it is not
}

// Right is a right on a resource of the API server.
type Right struct{ Verb, Group, Resource, Namespace string }

// Lease is the lease of the leading manager.
type Lease struct {
	Name    string // namespace/name
	Present bool
	Holder  string
	Renewed time.Time
	Lasts   time.Duration
	Pod     bool // the holder is a pod of the namespace
}

// Manager is a Deployment of managers, and its scope.
type Manager struct {
	Name                string // namespace/name
	Namespace, Instance string // the ones that they serve, "" for all
	Serves              string // in words
	External            bool   // it serves External Metrics
}

// Answer is the answer of the leading manager.
type Answer struct {
	From    string // its address or pod
	Reached bool   // it answered with decisions
	Why     string // why it did not
	Known   map[scaling.VariantKey]explain.Explanation
}

// Clocks are the offsets of the clocks of the API server and of the manager.
type Clocks struct {
	Server, Manager Offset
}

// Offset is how far a clock is ahead of that of this machine. By is 0 where Known is false.
type Offset struct {
	By    time.Duration
	Known bool
}

// Config is the content of the ConfigMaps.
type Config struct {
	Refused []config.Finding
	// Policy returns the settings by which a model is decided on; nil where they are unknown.
	Policy func(scaling.ModelKey, ...config.ClassRef) config.ModelSettings
	// ClassModels are the models that service classes name.
	ClassModels []string
}

// APIService is the API service external.metrics.k8s.io.
type APIService struct {
	Present   bool
	Service   string // namespace/name
	Available bool
	Message   string // of the condition Available
}

// Monitor is a ServiceMonitor or PodMonitor of the Prometheus Operator.
type Monitor struct {
	Kind, Namespace, Name string
	Selector              labels.Selector
	Any                   bool     // it looks in every namespace
	In                    []string // else in these; in its own where there are none
}

// Source is where Prometheus runs, as far as its address tells.
type Source struct {
	Namespace string // "" for unknown
	Pods      []corev1.Pod
}

// Variant is one variant: its object, and all that belongs to it.
type Variant struct {
	// Object is the VariantAutoscaling, or the object that stands for an annotated scaler.
	Object v1alpha1.VariantAutoscaling
	// File is the manifest with the variant, "" for one in the cluster.
	File string
	// Resolved is the variant as the discovery of the manager resolves it. Its Key is empty where
	// another object has the target.
	Resolved scaling.Variant
	Scalers  scaling.Scalers
	Failure  scaling.Trouble      // why pods of the target are not created
	Rivals   []scaling.VariantKey // all variants that name the target, the winner first; nil for one alone
	Problem  string               // why an annotated scaler cannot be decided on
	Pods     []corev1.Pod         // of the target
	// Prefixes are the metric prefixes in Prometheus. They are read only where metrics are missing.
	Prefixes Prefixes
}

// Prefixes are the prefixes of the names of engine metrics.
type Prefixes struct {
	Found []string // those of series of the namespace
	Read  []string // those that the manager reads
	Why   string   // why they could not be read, "" where they could, or need not be
}

// key returns the key of the variant.
func (v Variant) key() scaling.VariantKey {
	return scaling.VariantKey{Namespace: v.Object.Namespace, Name: v.Object.Name}
}
