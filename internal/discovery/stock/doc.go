// Package stock counts the accelerators of the cluster: what its nodes have, what their pods hold,
// and what is promised to pods that wait. It also says which accelerators a pod asks for.
//
// A Stock counts accelerators by the type and the group of their nodes:
//
//	type    the product label of the vendor on the node, else that of the cloud,
//	        shortened as a variant's; a node without one is not counted
//	total   the allocatable accelerators of the nodes that take new pods: Ready,
//	        neither cordoned nor deleted, and without a taint that says that the
//	        node is not initialized yet, or is drained
//	free    on each node: total, minus those of its pods until they are gone,
//	        minus those promised to pods that wait and have room there
//	leaving on each node: those of terminating pods, until a minute after the time
//	        by which the pods should have ended
//
// Nodes with a taint that reserves them are counted: most nodes with accelerators have
// one, and pods that request accelerators tolerate it. The option NodeSelector leaves out
// nodes that are reserved for others. Only accelerators are counted: a node may still lack
// memory or CPUs. Devices allocated by resource claims are not counted, and slices of a
// device under the name of the whole (MIG with one strategy, time slicing) count as whole.
package stock
