// Package access says who may read the manager's metrics port. Both questions go to the
// API server, whose answers are kept for a short time: who calls (TokenReview), and may
// they (SubjectAccessReview).
//
//	/metrics, /debug/cache   the verb on the non-resource URL
//	decisions                get of variantautoscalings.llmd.ai: in a namespace for those
//	                         of the namespace, in the whole cluster for those of all
//
// A caller who was refused often is answered 429 for a while, without a question to the
// API server: by address as long as it has no name, by name after that.
package access
