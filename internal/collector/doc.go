// Package collector measures a fleet: it asks a Source the questions of
// internal/query, joins the answers with the pods that live now, judges how far
// each number may be trusted, and returns one scaling.Snapshot per model.
//
// It decides nothing. What it keeps between cycles is a cache of measurements,
// which a restarted process fills with its first fetch, and for how long each model
// has been quiet, which it asks for again.
//
// # A collection
//
//	pages              at the source's own now; all others at the instant that
//	                   this one was answered for
//	scrape intervals   of a few pods of each job, those longest in place
//	ten more           over the window, side by side; with them earlier pages if a
//	                   Ready pod has none, and what objectives need of the models
//	                   that have one, and roles of those that have some
//	stuck              of the pods that hold requests and generate nothing
//
// The first two are about the whole fleet, the others are asked once for each window
// that is in use, of the namespaces that have it. That is 12 questions, and 15 at most,
// where all have one window, as they mostly do; there are five windows, whatever the size
// of the fleet. Beside them the IdleTracker asks recent of the models that are idle, while it is
// not known since when; a collection does not wait for that.
//
// The window of a namespace is the least of 1m, 2m, 4m and 10m that spans four scrape
// intervals of the slowest job that scrapes its pods; while none is known, what it was
// before, or 5m. No other namespace has a say in it.
//
// Ages are differences on the source's clock, from a page's last scrape to the
// instant of the answers, plus the time since the fetch on the manager's. So it
// does no harm if the two clocks disagree. ReplicaSample.At is shown on the
// manager's.
//
// # What is kept
//
// A fetch becomes one sheet per model, with every pod that the source names,
// live or not; a Snapshot is made by joining a sheet with the fleet of that
// moment. So a pod that is gone never counts, whatever the cache holds. Only a
// complete measurement, of which no question failed, is kept. One that is not
// serves those who wait for it, in the models that have no live entry, and is
// dropped. All who need a fetch at the same time share one, and its failure: who
// waited for a fetch that failed does not try again, and no collection takes
// longer than one budget, waiting included. An entry that is invalidated while a
// fetch is under way is not kept when that ends. A cache with room for fewer
// models than there are is told of (Options.ObserveCrowding) and logged: what was
// fetched serves who asked, and every cycle fetches.
//
// # What a missing number means
//
// Unknown is a state and never a number. What there is gets the freshness of
// the page that it came from:
//
//	Fresh   younger than max(1m, 2 scrape intervals + the longest TTL)
//	Aging   younger than max(5m, twice that)
//	Stale   older
//
// A page whose job has no known scrape interval is Aging at best: the store is
// too young, after a restart say, to tell what did not happen from what it did
// not see.
//
// What a Fresh page leaves out depends on the kind of number:
//
//	gauge of a pod                     Absent
//	rate of a counter                  0 if every page is Fresh and the growth of the gauges known, else Absent
//	mean, while nothing was completed  NotApplicable
//	mean, otherwise                    Absent
//	prefix cache hits                  NotApplicable, as without a latency objective
//	gateway queue                      0
//
// What an Aging page leaves out is Absent, and what a Stale one does is Stale:
// it was there and is out of reach. Without any page everything is Absent, but
// for the gateway queue, which is NotApplicable: this namespace has no gateway
// that holds requests. A replica that is Ready and has no page has a sample
// without readings and without a time: it is young, or silent.
//
// The numbers of a model, its rates, means and buckets, are added up over its
// pods by the source, so one pod that is out of reach makes all of them a lower
// bound. They are as fresh as the freshest page of its live pods, but Aging at
// best while a pod that is Ready has no Fresh page; the 0 of a counter that is
// missing needs a Fresh page of every Ready pod. A pod that became Ready less
// than two scrape intervals and the longest TTL ago, and was never scraped, makes
// nothing Aging, or no rollout would ever see a Fresh number. When a pod became
// Ready is known of the newest of each variant only, so one pod of a variant is
// forgiven at a time and any other counts as missing.
//
// For the gateway's numbers the page is that of an endpoint picker in the model's
// namespace. What it holds under no name is of the only model of the namespace.
// What it holds under a name that no model of the fleet bears, of an adapter, an
// alias, or a model without a variant, is added to the queue of the only model,
// which is Aging at best then: it may be another's. Where the namespace has
// several models, both make the queue of each that has none of its own Absent.
//
// A pod that two jobs name in different labels (pod, pod_name) counts once in the
// numbers of pods and twice in the rates of its model. The arrival rate as the
// engines show it is Absent then, and Snapshot.Unjoined says why.
//
// Series that several pods write in turn (query.Resets) are of none of them. Readings of a pod
// that they name are Aging at best, the arrival rate as the engines show it and the histograms of
// the model are Absent, and Snapshot.Partial says why. With scaling.BackendEPP the replicas of a
// model of which a page has several ranks (scaling.EngineLimits.Ranks) are Aging at best, too. So is a
// replica whose ranks the source names as pods of their own, while one of them has no page: of
// ranks with other numbers at both sides it is known to be missing, of the first and the last while
// the source still has readings of it.
//
// A question that fails makes its readings Absent. When the one for the pages
// fails, or every one of the second round does, nothing can be said, and
// Snapshot.Fault names the cause.
//
// A replica that holds requests while nothing moves is stuck (scaling.Stuckness)
// and has no load. While it cannot be known which replicas are, because that
// question failed, those that may be are Aging at best.
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
// in requests per second. Each is a lower bound where the other sees more: the
// engines do not see what the gateway refuses or holds, the gateway not what
// goes past it. A shrinking backlog is not subtracted: a pod that is killed
// takes its requests with it, which looks the same. Requests that a client
// abandons are in neither. Where the growth is unknown, or a picker that was
// seen cannot be asked or holds requests that may be the model's under another
// name, the rest is a lower bound and the reading at best Aging: it may justify
// growth and never a reduction.
//
// # Roles
//
// Of a model with prefill and decode (scaling.Disaggregated) both roles count a request, so what its
// pods report together counts it twice. Snapshot.Roles has what each role has to do, from the paces of
// its own pods (query.AskPace), as fresh as their pages:
//
//	arrivals       first tokens/s + min(part of the growth, waiting / window), by what waits where
//	TTFT           seconds until first tokens / first tokens
//	ITL            decode: seconds between tokens / tokens but the first of each request
//	output tokens  decode: 1 + tokens but the first / first tokens; prefill: 1
//	prefix hits    decode: prefill's first tokens / decode's, 1 at most: what prefill handed over, at least
//	gateway queue  prefill
//
// A request that decode serves alone is in decode's numbers only. The load of the model is decode's,
// its TTFT the sum of both means: that of requests which are served by both. What a gateway counts
// beyond decode's arrivals raises both roles in proportion. Rates that contain pods which ended within
// the window are Aging: which role those had is not known. SGLang observes first tokens of streamed
// requests alone, so the rates of its roles lack the others.
//
// An endpoint picker (scaling.BackendEPP) counts each request once, and not which of them prefill
// gets: decode has its numbers, and prefill no arrival rate.
//
// # Another backend, another cache
//
// A backend implements Source and passes collectortest.TestContract; the typed
// rows of internal/query are all that it has to produce. A cache implements
// cache.Cache. Both are chosen where the program is put together.
//
// # What is not here
//
// Expressions and metric names (internal/query), transport and TLS
// (internal/collector/prometheus), and what the numbers mean for scaling.
package collector
