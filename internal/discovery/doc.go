// Package discovery reads from the cluster what there is to scale: every
// VariantAutoscaling resolved to a scaling.Variant, with the replicas of its
// target and the pods behind them. It reads informer caches, and the scale subresource
// only for kinds without an informer. It decides only which of several objects may scale
// their common target, and holds models whose roles are incomplete.
//
// A field of a variant comes from the first of its sources that has a value:
//
//	target        scaleTargetRef (apiVersion empty: apps/v1), the Deployment of
//	              the object's own name
//	accelerator   spec.accelerator, the label inference.optimization/acceleratorName,
//	              modelProfile.accelerators[0].acc, the GPU product that the
//	              target's node selector or required node affinity asks for, ""
//	GPUs          spec.acceleratorCount, the GPUs that the target's containers
//	              request (a limit counts as a request), accCount of the entry of
//	              modelProfile for the accelerator, 1
//	cost          spec.variantCost unless it is 10, the unit cost of the
//	              accelerator times the GPUs, 10
//	profile       spec.variantProfile, the entry of modelProfile for the
//	              accelerator, none
//	limits        the arguments of vLLM in the target's containers, none
//
// Replicas are counted in units of the target's scale. Pods that terminate or have ended
// do not count. During a rollout there may still be more pods than replicas; they count
// only as Surplus:
//
//	Current       spec.replicas of the scale, absent: 1
//	Ready         min(Ready pods, Current)
//	Pending       Current - Ready
//	Unschedulable min(pods that no node takes, Pending)
//	Podless       Current - pods, at least 0
//	Surplus       pods that a node takes or may take - Current, at least 0
//
// A start-up is the time from a pod's creation to its first Ready. The latest of each
// variant are kept while the process runs, also while no pod exists. A variant's usual
// start-up is their median:
//
//	first seen                             its time to Ready counts
//	before its first Ready                 up to an hour
//	Ready, no container restarted          up to ten minutes
//	otherwise                              never: its probe may have failed since
//
// Every live pod is in the Fleet, the surplus of a rollout included, because it serves
// requests:
//
//	kind             replicas              template       pods
//	Deployment       typed informer        the same       pod -> ReplicaSet -> Deployment, by UID
//	StatefulSet      typed informer        the same       pod -> StatefulSet, by UID
//	LeaderWorkerSet  live GET of /scale    informer       as any other: the leaders
//	any other        live GET of /scale    unknown        pods of the workloads that it controls,
//	                                                      else status.selector of the scale
//
// Package scalers reads the scalers of a target; Scalers returns its answer.
//
// Objects beyond the budget of their namespace (internal/budget) are not in the Fleet and
// claim no target; LeftOut returns the limit that they exceed.
//
// Of several objects that name one target (namespace, kind, name) the oldest scales it,
// ties by name. The others are not in the Fleet; Contenders returns all of them.
package discovery
