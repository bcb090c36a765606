// Package collector measures a fleet: it asks a Source the questions of
// internal/query, joins the answers with the pods that live now, judges how far
// each number may be trusted, and returns one scaling.Snapshot per model.
//
// It decides nothing. Between cycles it keeps a cache of measurements, which a restarted process
// fills with its first fetch, and for how long each model has been idle, which it asks for again.
//
// # A collection
//
//	pages              at the source's own now; all other questions at the instant
//	                   of this answer
//	scrape intervals   of the oldest few pods of each job
//	ten more           over the window, side by side; with them earlier pages if a
//	                   Ready pod has none, and the numbers that objectives and
//	                   roles need, of the models that have them
//	stuck              of the pods that hold requests and generate nothing
//
// The first two are about the whole fleet. The others are asked once for each window in use, about
// the namespaces that have it. That is 12 questions, and 16 at most, where all have one window, as
// they mostly do; there are five windows, whatever the size of the fleet. Beside them the
// IdleTracker asks AskRecent about idle models, while it is unknown since when they are idle; a
// collection does not wait for that.
//
// The window of a namespace is the least of 1m, 2m, 4m and 10m that spans four scrape intervals of
// the slowest job that scrapes its pods. While none is known, it keeps its last window, or has the
// shortest window of the others, or 5m. Otherwise no namespace affects the window of another.
//
// Ages are differences on the source's clock, from a page's last scrape to the instant of the
// answers, plus the time since the fetch on the manager's clock. So the two clocks may disagree.
// ReplicaSample.At is on the manager's clock.
//
// # What is kept
//
// A fetch becomes one model answer per model, with every pod that the source names, live or not. A
// Snapshot joins a model answer with the fleet of that moment, so a pod that is gone never counts,
// whatever the cache holds. Only complete answers, of which no question failed, are kept. An
// incomplete one serves the callers that wait for it, for the models without a live entry, and is
// dropped. All callers that need a fetch at the same time share one, and its failure: a caller that
// waited for a fetch that failed does not try again, and no collection takes longer than one
// budget, waiting included. An entry that is invalidated during a fetch is not kept when the fetch
// ends. A cache with room for fewer models than there are is reported (Options.ObserveCrowding) and
// logged: the fetch serves its callers, and every cycle fetches.
//
// # What a missing number means
//
// Unknown is a state and never a number. A number has the freshness of the page that it came from:
//
//	Fresh   younger than max(1m, 2 scrape intervals + the longest TTL)
//	Aging   younger than max(5m, twice that)
//	Stale   older
//
// A page whose job has no known scrape interval is Aging at best: the store is too young, after a
// restart say, to tell a number that is 0 from one that it has not seen.
//
// For a number that a Fresh page lacks, the reading depends on the kind of number:
//
//	gauge of a pod                     Absent
//	rate of a counter                  0 if every page is Fresh and the growth of the gauges known, else Absent
//	mean, while nothing was completed  NotApplicable
//	mean, otherwise                    Absent
//	prefix cache hits                  NotApplicable, as without a latency objective
//	gateway queue                      0
//
// A number that an Aging page lacks is Absent. One that a Stale page lacks is Stale: it existed and
// is out of reach. Without any page everything is Absent, except the gateway queue, which is
// NotApplicable: this namespace has no gateway that holds requests. A Ready replica without a page,
// young or silent, has a sample without readings and without a time.
//
// The source adds up the numbers of a model, its rates, means and buckets, over its pods, so a pod
// that is out of reach makes all of them a lower bound. They are as fresh as the freshest page of
// its live pods, but Aging at best while half of its Ready pods or more have no Fresh page; a
// missing counter is 0 only with a Fresh page of every Ready pod. A pod that became Ready less than
// two scrape intervals and the longest TTL ago, and was never scraped, does not count as missing,
// or no rollout would ever see a Fresh number. Only the newest pod of each variant has a known
// Ready time, so one pod of a variant is excused at a time.
//
// The gateway's numbers have the page of an endpoint picker in the model's namespace. Requests that
// it holds under no name belong to the only model of the namespace. Requests under a name of no
// model of the fleet, of an adapter, an alias, or a model without a variant, are added to the queue
// of the only model, which is Aging at best then: they may be meant for another. Where the
// namespace has several models, both make the queue of each model without a queue of its own
// Absent.
//
// A pod that two jobs name in different labels (pod, pod_name) counts once in the numbers of pods
// and twice in the rates of its model. The arrival rate at the engines is Absent then, and
// Snapshot.Unjoined says why.
//
// Series that several pods write in turn (query.Resets) belong to none of them. Readings of a pod
// that they name are Aging at best, the arrival rate at the engines and the histograms of the model
// are Absent, and Snapshot.Partial says why. With scaling.BackendEPP the replicas of a model whose
// pages have several ranks (scaling.EngineLimits.Ranks) are Aging at best, too. So is a replica
// whose ranks the source names as pods of their own, while one rank has no page: one between two
// others is known to be missing, the first and the last while the source still has readings of it.
//
// A question that fails makes its readings Absent. When the question for the pages fails, or every
// one of the main round does, nothing is known, and Snapshot.Fault names the cause.
//
// A replica that holds requests while nothing moves is stuck (scaling.Stuckness) and has no load.
// While it is unknown which replicas are stuck, because that question failed, those that may be are
// Aging at best.
//
// # Arrivals
//
// The source counts requests that finish, which under-reports exactly when a
// model is saturated. Over one window
//
//	engines  = completions + max(0, growth of running and waiting)
//	gateway  = requests sent on + refusals + growth of the gateway queue
//	arrivals = max(engines, gateway)
//
// in requests per second. Each is a lower bound where the other sees more: the engines do not see
// requests that the gateway refuses or holds, the gateway does not see requests that bypass it. A
// shrinking backlog is not subtracted: a pod that is killed takes its requests with it, which looks
// the same. Requests that a client abandons are in neither. Where the growth is unknown, or a
// picker that was seen does not answer or holds requests that may be the model's under another
// name, the rest is a lower bound and the reading at best Aging: it may justify growth and never a
// reduction.
//
// # Roles
//
// In a model with prefill and decode (scaling.Disaggregated) both roles count a request, so the sum
// over its pods counts it twice. Snapshot.Roles has the load of each role, from the paces of its
// own pods (query.AskPace), as fresh as their pages:
//
//	arrivals       first tokens/s + min(share of the growth by waiting requests, waiting / window)
//	TTFT           seconds until first tokens / first tokens
//	ITL            decode: seconds between tokens / tokens but the first of each request
//	output tokens  decode: 1 + tokens but the first / first tokens; prefill: 1
//	prefix hits    decode: prefill's first tokens / decode's, 1 at most: a lower bound
//	gateway queue  prefill
//
// A request that decode serves alone is in decode's numbers only. The load of the model is
// decode's, its TTFT the sum of both means: that of requests served by both. Where a gateway counts
// more than decode's arrivals, both roles rise in proportion. Rates that contain pods which ended
// within the window are Aging: the role of those is unknown. SGLang observes first tokens of
// streamed requests alone, so the rates of its roles lack the others.
//
// An endpoint picker (scaling.BackendEPP) counts each request once, and does not tell which of them
// prefill gets: decode has its numbers, and prefill no arrival rate.
//
// # Another backend, another cache
//
// A backend implements Source and passes collectortest.TestContract; it produces nothing but the
// typed rows of internal/query. A cache implements cache.Cache. The main program chooses both.
//
// # What is not here
//
// Expressions and metric names (internal/query), transport and TLS
// (internal/collector/prometheus), and what the numbers mean for scaling.
package collector
