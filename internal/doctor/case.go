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

// Case is what was read of a cluster and of the manager, together with manifests that are not
// applied yet. Diagnose does not modify it.
type Case struct {
	Now time.Time
	// Pre says that the manager is not installed yet: only what would be in its way is looked at.
	Pre bool
	// System is the namespace of the manager.
	System string
	// Missed is what could not be read, by what it is.
	Missed map[Read]Missed

	Server     string // version of the API server, "" while unknown
	Definition Definition
	Denied     []Right // of the user, for an installation (Pre)

	Lease    Lease
	Managers []Manager    // the Deployments of managers that are to run
	Pods     []corev1.Pod // of the managers
	Account  string       // the manager's service account, namespace/name; "" where it is not known
	Lacks    []Right      // rights that the account lacks
	Answer   Answer
	Clocks   Clocks

	Namespaces map[string]corev1.Namespace // by name; nil where they could not be read
	Config     Config
	API        APIService
	Monitors   []Monitor
	Services   []corev1.Service
	// ServingPods are the pods of the namespaces that are looked at.
	ServingPods []corev1.Pod
	Policies    []networkingv1.NetworkPolicy
	Prometheus  Source

	Variants []Variant // sorted by key

	Left  []Leftover // objects of probes, those of a running one included
	Probe *Probe     // nil where none was made
}

// Read is something that is read of a cluster.
type Read string

// What is read.
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

// Missed is why something could not be read.
type Missed struct {
	Why   string
	Right string // that is missing, in the words of kubectl auth can-i: "list pods"; "" where that is not why
}

// Definition is the CustomResourceDefinition of VariantAutoscaling.
type Definition struct {
	Absent bool
	Older  string // by what it is older than that of this version, "" where it is not
}

// Right is a right on a resource of the API server.
type Right struct{ Verb, Group, Resource, Namespace string }

// Lease is that of the manager that leads.
type Lease struct {
	Name    string // namespace/name
	Present bool
	Holder  string
	Renewed time.Time
	Lasts   time.Duration
	Pod     bool // the holder is a pod of the namespace
}

// Manager is a Deployment of managers, and what they serve.
type Manager struct {
	Name                string // namespace/name
	Namespace, Instance string // "" for every one
	Serves              string // in words
	External            bool   // it serves External Metrics
}

// Answer is what the manager that leads says.
type Answer struct {
	From    string // its address or pod
	Reached bool   // it answered with decisions
	Why     string // why it did not
	Known   map[scaling.VariantKey]explain.Explanation
}

// Clocks are the times that others answered with, less that of this machine. Zero where Known is false.
type Clocks struct {
	Server, Manager Offset
}

// Offset is how far a clock is ahead of that of this machine.
type Offset struct {
	By    time.Duration
	Known bool
}

// Config is what ConfigMaps say.
type Config struct {
	Refused []config.Finding
	// Policy returns how decisions are made for a model, nil where that is not known.
	Policy func(scaling.ModelKey, ...config.ClassRef) config.ModelSettings
	// ClassModels are the models that service classes name.
	ClassModels []string
}

// APIService is who serves external.metrics.k8s.io.
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
	In                    []string // else in these, its own where there are none
}

// Source is where Prometheus runs, as far as its address says so.
type Source struct {
	Namespace string // "" where that is not known
	Pods      []corev1.Pod
}

// Variant is one variant: its object, and what belongs to it.
type Variant struct {
	// Object is the VariantAutoscaling, or what stands for an annotated scaler.
	Object v1alpha1.VariantAutoscaling
	// File is the manifest that it is of, "" where it is in the cluster.
	File string
	// Resolved is the variant as the manager's own discovery sees it; its Key is empty where the
	// object has lost its target to another.
	Resolved scaling.Variant
	Scalers  scaling.Scalers
	Failure  scaling.Trouble      // why pods of the target are not created
	Rivals   []scaling.VariantKey // all variants that name the target, the winner first; nil for one alone
	Problem  string               // why an annotated scaler cannot be decided on
	Pods     []corev1.Pod         // of the target
	// Prefixes is what Prometheus has under other names, looked for where there are no metrics.
	Prefixes Prefixes
}

// Prefixes are the prefixes before the names of an engine's metrics.
type Prefixes struct {
	Found []string // that series of the namespace have
	Read  []string // that the manager reads
	Why   string   // why they were not looked for, "" where they were, or need not be
}

// key returns the key of the variant.
func (v Variant) key() scaling.VariantKey {
	return scaling.VariantKey{Namespace: v.Object.Namespace, Name: v.Object.Name}
}
