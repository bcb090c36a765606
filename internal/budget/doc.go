// Package budget bounds what one namespace may cost the manager, so that whoever may
// edit objects of one namespace cannot slow or end what the manager does for others.
//
//	what            default    counted                                     beyond it
//	variants        1,000      VariantAutoscalings                         the object is left out
//	object_bytes    5 MiB      text of VariantAutoscalings                 the object is left out
//	batch_sizes     524,288    requests of a batch, over all profiles      the object is left out
//	page_bytes      16 MiB     pages kept, beside 128 KiB for each pod     older pages are dropped
//	series          8,192      series of the latest pages, beside 256 for  the page is not kept
//	                           each pod
//	findings        50         findings about ConfigMaps                   they are counted, not told
//	events          5,000      events within an hour                       they are not sent
//
// Of objects the oldest stay. They are admitted by age, then by name, and one that
// exceeds what is left of any limit is left out, while a younger and smaller one may
// still be admitted. So whether an object is served depends on older ones alone: no new
// object takes the place of one that is there.
//
// Everything here is a value or a count. What is left out, and how that is told, is for
// those who hold the objects, pages and events.
package budget
