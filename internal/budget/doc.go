// Package budget bounds the resources that one namespace may use in the manager, so that a
// user who can edit objects of one namespace cannot slow or stop the manager for the
// others.
//
//	what            default    counted                                     beyond it
//	variants        1,000      VariantAutoscalings                         the object is left out
//	object_bytes    5 MiB      text of VariantAutoscalings                 the object is left out
//	batch_sizes     524,288    requests of a batch, over all profiles      the object is left out
//	page_bytes      16 MiB     kept metrics pages, and 128 KiB a pod       older pages are dropped
//	series          8,192      series of the latest pages, and 256 a pod   the page is not kept
//	findings        50         findings about ConfigMaps                   they are only counted
//	events          5,000      events within an hour                       they are not sent
//
// The oldest objects stay. Objects are admitted by age, then by name. An object that
// exceeds the remainder of any limit is left out; a younger and smaller one may still be
// admitted. So whether an object is served depends only on older ones: a new object never
// replaces an existing one.
//
// This package only computes values and counts. The owners of the objects, pages and events
// leave them out and report it.
package budget
