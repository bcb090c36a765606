// Package store keeps learned values across restarts of the manager, in ConfigMaps of the
// manager's own namespace, where its users can read and clear it. It is optional: a manager
// without it, or without the rights for it, learns again after each start. It is no
// database: its content is small, is read once when a manager begins to lead, and may be
// lost at any time. Other processes read only decisions, when they are asked for them.
//
// A Kind is one kind of knowledge. It has a ConfigMap, wva-store-<kind>, with an entry for
// each model:
//
//	key     namespace.model.hash, in the characters that a key may have
//	value   {"version":1,"namespace":...,"model":...,"at":...,"data":...,"sum":...}
//
// at is when data last changed; sum is a checksum of the rest. An entry that cannot be
// read, has another version, another key than its model's or another checksum than its text
// is ignored, and a Warning event of the ConfigMap says so; the others apply. It stays
// until the model has an entry again.
//
// Bytes are bounded three times:
//
//	of an entry        Kind.EntryBytes; a longer one is reduced with Less until it fits,
//	                   so that no model takes the space of others
//	of a ConfigMap     Kind.AllBytes; entries that cannot be read go first, then those
//	                   of models that are not served, then those of the namespace with
//	                   the most bytes, each time the oldest
//	of all ConfigMaps  the sum of AllBytes, at most mostBytes
//
// Only the leader writes: at most once a minute, decisions once a second, and only where an
// entry Differs from the stored one. A write carries the resource version that was read: if
// another client wrote in between, the store reads again and merges.
//
// To add a kind: give its type the methods of Knowledge, return its Kind from a function
// beside StartUps and Fits, list it in kinds, name its ConfigMap in the marker for the
// manager's Role (internal/controller/rbac.go), and call Load before the first cycle and
// Keep after each.
package store
