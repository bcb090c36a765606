package faults

// Area is the part that fails.
type Area string

// The areas, in the order of the page.
const (
	Prometheus    Area = "Prometheus"
	APIServer     Area = "API server"
	Leader        Area = "Leader"
	Pods          Area = "Pods"
	Configuration Area = "Configuration"
	Clock         Area = "Clock"
	Tenants       Area = "Tenants"
)

// Areas returns every area with the number of its faults.
func Areas() []struct {
	Area   Area
	Faults int
} {
	return []struct {
		Area   Area
		Faults int
	}{{Prometheus, 10}, {APIServer, 8}, {Leader, 5}, {Pods, 6}, {Configuration, 6}, {Clock, 3}, {Tenants, 2}}
}

// Fault is something that goes wrong around a manager.
type Fault struct {
	// ID is the name of the fault in the page, in lower case with hyphens.
	ID   string
	Area Area
	// Breaks says what goes wrong, Manager what the manager does then, and Told how users see it:
	// conditions, events, metrics, alerts, the log. Each is Markdown.
	Breaks, Manager, Told string
	// Tests are the tests that inject the fault.
	Tests []Test
}

// Test names a test.
type Test struct {
	Package string // its folder in the repository
	Name    string // as in go test -run, with subtests after slashes
}

// The packages of tests.
const (
	loop       = "test/promql/loop"
	e2e        = "test/e2e"
	here       = "test/faults"
	manager    = "cmd/manager"
	source     = "internal/collector/prometheus"
	scrape     = "internal/collector/scrape"
	soak       = "internal/sim/soak"
	cycle      = "internal/engines/cycle"
	fallback   = "`MetricsAvailable` False `PrometheusError` with the words of the failure, `OptimizationReady` `FallbackUsed`, event `Held`; alert [WVAModelBlind](../runbooks/WVAModelBlind.md)"
	holds      = "every decision holds: the larger of the last one and what runs; back within two cycles"
	rejected   = "`ConfigurationValid` False `InvalidConfiguration` on the objects that it concerns; event `InvalidConfiguration` on the ConfigMap, and a line of the log"
	nothing    = "nothing: there is nothing to do"
	leaderEnds = "its log and exit status; the new leader's `leader_election_master_status`"
)

// All returns the faults, grouped by area.
func All() []Fault {
	var all []Fault
	for _, of := range [][]Fault{ofPrometheus(), ofAPIServer(), ofLeader(), ofPods(), ofConfiguration(), ofClock(), ofTenants()} {
		all = append(all, of...)
	}
	return all
}

func ofPrometheus() []Fault {
	return []Fault{
		{"prometheus-down", Prometheus, "Prometheus takes no connection", holds, fallback, []Test{
			{loop, "TestAStoreThatGivesNoAnswerHolds/refused"}, {e2e, "TestPrometheusFaultsHoldTheDecision/down"},
		}},
		{"prometheus-overloaded", Prometheus, "it answers 429, 500 or 503", "tries again within the cycle, as long as `Retry-After` says; after that " + holds, fallback, []Test{
			{loop, "TestAStoreThatGivesNoAnswerHolds/429"},
			{loop, "TestAStoreThatGivesNoAnswerHolds/503"},
			{loop, "TestAStoreThatStumblesIsAskedAgain"},
			{source, "TestRetryAfterIsHonoured"},
		}},
		{"prometheus-slow", Prometheus, "it answers later than `PROMETHEUS_TIMEOUT`", "gives up after its time, and " + holds, fallback, []Test{
			{loop, "TestAStoreThatGivesNoAnswerHolds/slow beyond the budget"}, {e2e, "TestPrometheusFaultsHoldTheDecision/slow"},
		}},
		{"prometheus-half-fails", Prometheus, "some of its queries fail", "decides what is right on the rest, or holds; nothing shrinks on what is not Fresh", "`wva explain` shows which readings are absent; `wva_collector_queries_total` counts failures by query", []Test{
			{loop, "TestHalfOfTheAnswersNeverShrink"},
		}},
		{"prometheus-garbage", Prometheus, "it sends half of an answer, a login page, or a million rows", "refuses the answer at its limit of bytes and rows, and " + holds, fallback, []Test{
			{loop, "TestAStoreThatGivesNoAnswerHolds/half of each answer"}, {loop, "TestAStoreThatGivesNoAnswerHolds/a million series"}, {e2e, "TestPrometheusFaultsHoldTheDecision/garbage"},
		}},
		{"prometheus-partial", Prometheus, "a querier answers without one of its stores, with a warning", "a replica without rows counts as full for a reduction and as idle for growth", "`wva explain` shows the replica without readings; the warning is logged with `LOG_LEVEL=debug`; alert [WVAMetricsAging](../runbooks/WVAMetricsAging.md)", []Test{
			{loop, "TestAPartialAnswerCountsNoModelAsIdle"},
		}},
		{"prometheus-foreign-rows", Prometheus, "it has each row twice, pods of another cluster with the same namespace and model, or rows of several pods in turn, because it scrapes the address of their Service", "rows that differ in a label alone count once; pods of others are no replicas, and their requests count in the rates, which may order too much and never too little; rows of several pods in turn grow and do not shrink", "`wva explain` names a pod of the others, `MetricsAvailable` the address, each what to do", []Test{
			{loop, "TestEachRowTwiceIsCountedOnce"},
			{loop, "TestPodsOfAnotherClusterAreNoReplicasAndAreNamed"},
			{loop, "TestPodsBehindOneAddressGiveNothingUp"},
			{loop, "TestPodsBehindOneAddressWithoutAPodAreNamed"},
		}},
		{"prometheus-credentials", Prometheus, "the token was rotated, or a certificate has expired", "reads its files again without a restart; until they fit " + holds, "as `prometheus-down`, with `HTTP 401` or `x509: certificate has expired`", []Test{
			{loop, "TestARotatedTokenIsReadAgain"}, {source, "TestAnExpiredCertificateIsNamedAndItsSuccessorAccepted"}, {source, "TestAuthoritiesAreReadAgain"},
		}},
		{"prometheus-restarted-empty", Prometheus, "it starts again with an empty database", "holds until two scrapes are there; an empty answer is not an idle model", "`MetricsAvailable` False `MetricsMissing`, then True", []Test{
			{loop, "TestAStoreThatBeginsAgainIsNotIdle"}, {loop, "TestAnEmptyAnswerIsNotAnIdleModel"},
		}},
		{"prometheus-scrapes-nothing", Prometheus, "it answers, and scrapes no pod any more", "grows on readings up to their age of Aging, shrinks on none", "`MetricsAvailable` with the age, False once they are Stale; alert [WVAMetricsAging](../runbooks/WVAMetricsAging.md)", []Test{
			{loop, "TestPagesThatAgeGrowAndDoNotShrink"}, {e2e, "TestMetricsThatAreNoLongerScrapedAgeUntilTheyCountForNothing"},
		}},
	}
}

func ofAPIServer() []Fault {
	return []Fault{
		{"apiserver-down", APIServer, "the API server cannot be reached, nor can Prometheus", "lives, decides from its caches, writes nothing, and tries again less and less often", "the log; `kubectl` fails too", []Test{{e2e, "TestAManagerThatIsCutOffHoldsAndRecovers"}}},
		{"apiserver-slow", APIServer, "each request takes longer than a cycle", "waits; decisions are carried out late, and none is lost", "`rest_client_request_duration_seconds` of the manager", []Test{{here, "TestASlowAPIServerLosesNothing"}}},
		{"apiserver-throttles", APIServer, "priority and fairness answers 429 with `Retry-After`", "waits so long before the same request again", "`rest_client_requests_total{code=\"429\"}` of the manager", []Test{{here, "TestAnAPIServerThatThrottlesIsObeyed"}}},
		{"apiserver-watch-expired", APIServer, "a watch ends with 410, as after a compaction", "lists again, so that what changed meanwhile is seen", nothing, []Test{{here, "TestAWatchThatHasExpiredIsListedAgain"}}},
		{"apiserver-conflict", APIServer, "an object changes between the read and the write of its status (409)", "decides the status anew half a second later; the change of the other stays", nothing, []Test{{here, "TestAStatusThatChangesUnderItsWriterIsWrittenAnew"}}},
		{"apiserver-admission", APIServer, "a webhook or a policy refuses to scale the target", "tries again each cycle, and sets the replicas once it may", "`ScalerFollowing` False `TargetNotMoving` with the words of the refusal, event `NotFollowed`; alert [WVANotFollowed](../runbooks/WVANotFollowed.md)", []Test{{here, "TestAnAdmissionPolicyThatRefusesIsNamed"}}},
		{"apiserver-rights-taken", APIServer, "a right of the manager's role is taken away while it runs", "is not Ready where it cannot know the fleet; else goes on with what it may", "readiness; the log names the right; `TargetNotFound`, `TargetNotMoving` or event `StatusNotWritten`, by the right", []Test{{e2e, "TestWhatMayNotBeWatchedIsNotReady"}}},
		{"apiserver-object-deleted", APIServer, "a VariantAutoscaling is deleted between its decision and the write", "forgets it within a cycle; that is no error", nothing, []Test{{here, "TestAnObjectThatIsDeletedDuringACycleIsForgotten"}}},
	}
}

func ofLeader() []Fault {
	return []Fault{
		{"leader-killed", Leader, "the leader is killed", "another leads once the lease has run out, and decides the same; HPAs read the last decision meanwhile", "`leader_election_master_status`; alert [WVAAbsent](../runbooks/WVAAbsent.md) where no manager takes over", []Test{{e2e, "TestKillingTheLeaderMidLoadMovesNothing"}}},
		{"leader-paused", Leader, "the leader is stopped for longer than its lease, and goes on", "sends no change of an object once the lease may be that of another, and ends when it reads that it is", leaderEnds, []Test{
			{here, "TestTheLeadIsLost/APausedProcessWritesNothingOnceItsLeaseHasRunOut"}, {manager, "TestOnlyWhoHoldsTheLeaseForCertainWrites"},
		}},
		{"leader-lease-deleted", Leader, "the lease is deleted", "the first manager that tries makes it again; a former leader that is not the first ends at its next renewal", leaderEnds, []Test{{here, "TestTheLeadIsLost/ADeletedLeaseIsMadeAgain"}}},
		{"leader-lease-taken", Leader, "another holder is written into the lease", "the leader ends, and no manager decides until the lease has run out", leaderEnds + "; readiness (`leader`) where the lease stays taken and is not renewed", []Test{
			{here, "TestTheLeadIsLost/ALeaseThatIsTakenEndsTheLeader"},
		}},
		{"leader-cut-off", Leader, "the leader alone does not reach the API server", "it ends after its renewal deadline, before another can lead", leaderEnds, []Test{{here, "TestTheLeadIsLost/ALeaderThatIsCutOffEnds"}}},
	}
}

func ofPods() []Fault {
	return []Fault{
		{"pods-crash", Pods, "some pods crash for ever, or become Ready and crash again", "plans with the others, and orders in place of those after twice the usual start-up", "`ScalerFollowing` True with the reason `PodsNotReady`, event `NotFollowed`; alert [WVAReplicasNotReady](../runbooks/WVAReplicasNotReady.md)", []Test{
			{soak, "TestFoundCasesStayMended/two-of-fifty-crash"}, {soak, "TestFoundCasesStayMended/crash-loop-holds-moves"},
		}},
		{"pods-silent", Pods, "a Ready pod serves no page, or holds requests and does not move", "it counts as full for a reduction and as idle for growth", "`wva explain` shows its age, and `stuck`; alert [WVAMetricsAging](../runbooks/WVAMetricsAging.md)", []Test{
			{loop, "TestOneReplicaWithoutAPageCountsAsFull"}, {loop, "TestAReplicaThatIsStuckIsNoSurvivor"}, {soak, "TestFoundCasesStayMended/two-of-fifty-silent"},
		}},
		{"pods-malformed-page", Pods, "the page of a pod is no page of metrics, or has too many series", "that pod is silent, and the others are read as before", "as `pods-silent`; where no page can be read, `MetricsAvailable` False `PrometheusError` names one of them with its fault", []Test{
			{scrape, "TestOnePodThatFailsLeavesTheOthersAlone"}, {scrape, "TestAPageOfTooManySeriesIsNotKept"}, {scrape, "TestWhenEveryPageFailsTheSourceSaysWhy"},
		}},
		{"pods-unschedulable", Pods, "no node takes what was ordered", "stops counting it after a minute, and grows on another variant", "`ScalerFollowing` False `PodsUnschedulable`, event `NotFollowed`; alert [WVACapacityExhausted](../runbooks/WVACapacityExhausted.md)", []Test{
			{e2e, "TestAnOrderThatNoNodeTakesIsNamedAndPlannedElsewhere"}, {soak, "TestFoundCasesStayMended/one-pod-without-a-node"},
		}},
		{"pods-evicted", Pods, "a node evicts a pod, whose object stays as Failed", "the pod in its place is the replica; the object counts for nothing", "nothing of the manager: the pod's own status", []Test{{here, "TestAnEvictedPodIsNoReplica"}}},
		{"pods-two-revisions", Pods, "a rollout replaces the pods while the load grows", "grows all the while", nothing, []Test{{soak, "TestFoundCasesStayMended/rollout-freezes-growth"}}},
	}
}

func ofConfiguration() []Fault {
	return []Fault{
		{"configuration-deleted", Configuration, "a ConfigMap is deleted", "the defaults are in force with a cycle that begins at once", "the log: `ConfigMap changed`, with the trigger `deleted`", []Test{
			{manager, "TestOnAPIServer/ADeletedConfigMapLeavesTheDefaults"}, {manager, "TestOnAPIServer/UnitCostsAreTheCostsOfReplicas"},
		}},
		{"configuration-malformed", Configuration, "an entry is no YAML, or a value is out of range", "the last good entry stays in force, and the others are taken", rejected, []Test{
			{manager, "TestOnAPIServer/TextThatIsNoYAMLIsNamed"}, {manager, "TestOnAPIServer/BadContentIsNamedAndMended"},
		}},
		{"configuration-contradictory", Configuration, "two settings contradict each other", "the entry that contradicts what it inherits is not in force", rejected, []Test{{manager, "TestOnAPIServer/AContradictionIsNamed"}}},
		{"configuration-duplicate", Configuration, "a key is written twice, or a model is in two service classes", "the entry is not in force; of two classes the first is", rejected, []Test{
			{manager, "TestOnAPIServer/AKeyThatIsWrittenTwiceIsNamed"}, {manager, "TestOnAPIServer/TheSecondOfTwoClassesWithOneModelIsNamed"},
		}},
		{"configuration-unknown-key", Configuration, "a key is spelt wrongly", "the other keys of the entry are in force", rejected + ", with the key that may be meant", []Test{{manager, "TestOnAPIServer/AKeyThatIsNotKnownIsNamedWithTheNearest"}}},
		{"configuration-too-large", Configuration, "a ConfigMap has 10,000 entries, one of them wrong", "reads it within a cycle, and writes to no object that it does not concern", rejected, []Test{{manager, "TestOnAPIServer/AConfigMapOf10000KeysIsReadAndItsBadEntryNamed"}}},
	}
}

func ofClock() []Fault {
	return []Fault{
		{"clock-back", Clock, "the manager's clock is set back", "waits for nothing that lies in the future; what was kept before is measured again", nothing, []Test{
			{loop, "TestAClockThatIsSetBackHoldsNothingBack"}, {soak, "TestFoundCasesStayMended/clock-set-back"}, {cycle, "TestAClockThatIsSetHoldsNothingBack"},
		}},
		{"clock-forward", Clock, "the manager's clock is set forward", "readings are as old as they are by the clock of Prometheus; nothing shrinks and no model goes to zero earlier", nothing, []Test{
			{loop, "TestAClockThatIsSetForwardMakesNothingOld"}, {cycle, "TestAClockThatIsSetTakesNoModelToZeroEarly"},
		}},
		{"clock-jitter", Clock, "the clock jumps to and fro, or differs from that of Prometheus by a minute", "decides the same", nothing, []Test{
			{loop, "TestAClockThatJumpsToAndFroDecidesTheSame"}, {loop, "TestAClockThatIsWrongChangesNothing"},
		}},
	}
}

func ofTenants() []Fault {
	return []Fault{
		{"tenant-flood", Tenants, "a tenant creates 200 VariantAutoscalings without targets, a ConfigMap whose aliases multiply, and a Deployment whose command line does", "stays Ready and below 250 MB, and carries out what another namespace needs within seconds", "the tenant: `TargetResolved` False `TargetNotFound`, `ConfigurationValid` False `InvalidConfiguration`", []Test{
			{here, "TestAFloodOfObjectsOfOneNamespaceLeavesTheOthersAlone"},
		}},
		{"tenant-poisoned-page", Tenants, "a tenant's pod serves numbers that are none, labels without end, and claims to be of another namespace", "what is decided for the other namespace is the same to the byte", nothing, []Test{
			{loop, "TestAPoisonedPageOfAnotherNamespaceChangesNothing"}, {scrape, "TestPagesOfNewSeriesEachTimeEndNoOther"},
		}},
	}
}
