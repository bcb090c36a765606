// Package stock counts the accelerators of the cluster: what its nodes have, what their pods hold,
// and what is promised to pods that wait. It also says which accelerators a pod asks for.
//
// A Stock counts accelerators by the type and the group of their nodes:
//
//	type    the product label of the vendor on the node, else that of the cloud,
//	        in short as a variant's; a node without one is not counted
//	total   the allocatable accelerators of the nodes that take new pods: Ready,
//	        neither cordoned nor deleted, and without the taint of a keeper that
//	        drains them or waits for them
//	free    on each node: total, minus what its pods take until they are gone,
//	        minus what pods take that wait for a node and find room there, which
//	        is promised to them
//	leaving on each node: what pods hold that terminate, until a minute after the
//	        time by which they should have ended
//
// A taint that reserves nodes does not keep them out of the stock: nodes with
// accelerators mostly have one, which those who ask for accelerators tolerate.
// Nodes that are reserved for others are told by the node selector. Only
// accelerators are counted: a node may still lack memory or CPUs. Devices handed
// out by resource claims are not seen, and slices of a device under the name of
// the whole (MIG with one strategy, time slicing) count as whole.
package stock
