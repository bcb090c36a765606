// Package dashboard serves the pages of `wva dashboard` to the browser of one user, on loopback:
// what a fleet looks like, why each model has the replicas that it has, and what other settings
// would have decided. It decides nothing and changes nothing: it reads from a manager with the
// rights of the user ([Live]), or from files of recorded cycles ([Recorded]). For the time before
// the memory of a manager it reads a store of its metrics, where one is configured ([Past]).
//
//	GET  /?token=        the one-time link; sets a cookie and leads to /
//	GET  /, /assets/     the pages
//	GET  /api/fleet      every model as of the last cycle
//	GET  /api/model      a model over time
//	GET  /api/replicas   the replicas of a model over time
//	GET  /api/decision   a decision with its steps, and why it is not another one
//	POST /api/whatif     the kept cycles of a model, decided again with other settings
//	GET  /api/events     server-sent events: another cycle, a trouble
//
// Text from the cluster (names, model IDs, messages) is untrusted. It leaves as JSON strings, in
// answers that no browser takes for a page; the pages show it as text.
//
// Each request needs the cookie that the link set, a Host header that names this machine, and a
// page of the same origin. Answers have time limits. Counterfactuals and what-ifs, which take a
// processor for long, run one at a time each.
package dashboard
