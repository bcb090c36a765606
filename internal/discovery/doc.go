// Package discovery reads from the cluster what there is to scale: every
// VariantAutoscaling resolved to a scaling.Variant, with the replicas of its
// target and the pods behind them. It reads informer caches, and only for kinds
// that it has no informer for the scale subresource itself. It decides nothing
// but who may scale a target that several objects name.
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
// Replicas are counted in units of the target's scale. Pods that terminate or
// have ended are not there; of a rollout there may then be more pods than
// replicas, and the surplus counts for nothing:
//
//	Current       spec.replicas of the scale, absent: 1
//	Ready         min(Ready pods, Current)
//	Pending       Current - Ready
//	Unschedulable min(pods that no node takes, Pending)
//	Podless       Current - pods, at least 0
//	Surplus       pods that a node takes or may take - Current, at least 0
//
// A start-up is the time from a pod's creation to its first Ready. The latest of each
// variant are remembered while the process runs, also while no pod is there, and a
// variant's usual start-up is their median:
//
//	a pod that was seen                    its time to Ready
//	before its first Ready                 counts, up to an hour
//	Ready first, no container restarted    counts, up to ten minutes
//	else                                   does not: the probe may have failed since
//
// Every one of those pods is in the Fleet, the surplus of a rollout too: it
// serves requests.
//
//	kind          replicas, template    pods
//	Deployment    typed informer        pod -> ReplicaSet -> Deployment, by UID
//	StatefulSet   typed informer        pod -> StatefulSet, by UID
//	any other     live GET of /scale    status.selector of the scale
//
// Who else sets the replicas of a target is read by package scalers, whose answer Scalers
// repeats.
//
// Objects beyond the budget of their namespace (internal/budget) are not in the Fleet and
// claim no target; LeftOut tells which those are.
//
// Of several objects that name one target (namespace, kind, name) the oldest
// scales it, ties by name. The others are not in the Fleet; Contenders tells
// who they are.
package discovery
