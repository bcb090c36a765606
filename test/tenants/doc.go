// Package tenants searches for what one namespace can do to another. It runs the manager's parts
// (configuration, discovery, pages, decisions, statuses, events, web page) over a cluster in
// memory, with honest namespaces and a hostile one, and compares each cycle with the same cycle
// without the hostile namespace:
//
//	decisions   where they share no accelerators, the decisions on honest variants are
//	            the same bytes, and so are the status, reason and type of their conditions
//	share       where they share accelerators, honest models get what their quota or
//	            their priority entitles them to, and lose no more replicas than honest
//	            models are short of
//	time        an interval of the manager takes at most 1.5 times as long and 50 ms more,
//	            in processor time; it waits at most as long as security.md states
//	memory      the manager holds at most 50 MB more that garbage collection does not free,
//	            also during the interval
//	events      the number of events of the hostile namespace is limited
//	whole       no part of the manager panics, fails or stops answering
//
// A hostile namespace is a list of moves, each drawn from a seed: objects of every kind that a
// tenant may write, with values that are honest, extreme or mutated bytes of honest ones. A Case
// that violates a rule is reduced to the fewest and smallest moves that violate it, and written as
// text that can be read again: testdata holds those.
//
// Not searched here: the API server, HTTP below the pages (headers, connections), answers of
// Prometheus and leader election. The size of a hostile namespace is limited as by a ResourceQuota:
// at most 64 VariantAutoscalings, 64 pods and 8 MiB of objects.
package tenants
