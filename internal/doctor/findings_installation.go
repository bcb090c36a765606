package doctor

// installationTable are the findings about the installation.
var installationTable = []Entry{
	{
		Code: "WVA0101", Name: "api-server-not-reached", Sentence: "The API server does not answer",
		Means: "Nothing of the cluster can be looked at. Manifests that are given with -f are still checked.",
		Seen:  "the first request to the API server fails, other than by a missing right",
		Mend:  "kubectl cluster-info", Advice: "Check the address, the certificate and the credentials of the kubeconfig.",
	},
	{
		Code: "WVA0102", Name: "not-looked-at", Sentence: "Something could not be looked at",
		Means: "The checks that need it were not made; all others were.",
		Seen:  "a request is refused, or has no answer within the time limit of its check; the evidence names the right",
		Mend:  "kubectl auth can-i VERB RESOURCE --all-namespaces", Advice: "Ask for the right that is named, or narrow the check: -n NAMESPACE, --skip CODES.",
		Behind: []Code{"WVA0101"},
	},
	{
		Code: "WVA0103", Name: "crd-missing", Sentence: "The cluster has no VariantAutoscalings: their CustomResourceDefinition is missing",
		Means: "No variant can be created. Only annotated HorizontalPodAutoscalers and ScaledObjects can be variants.",
		Seen:  "the API server does not know the kind VariantAutoscaling",
		Mend:  "kubectl apply --server-side -f charts/workload-variant-autoscaler/crds",
	},
	{
		Code: "WVA0104", Name: "crd-older", Sentence: "The CustomResourceDefinition of VariantAutoscaling is of an older version",
		Means:   "The API server drops the fields that the definition lacks: what is written into them, and what the manager reports in them, is lost.",
		Related: []string{"event OlderDefinition"},
		Seen:    "the schema of the definition lacks fields of this version of wva, or has fields that only older versions have",
		Mend:    "kubectl apply --server-side --force-conflicts -f charts/workload-variant-autoscaler/crds", Advice: "helm upgrade does not replace definitions.",
	},
	{
		Code: "WVA0105", Name: "no-leader", Sentence: "No manager leads",
		Means:   "Nothing is decided. HorizontalPodAutoscalers keep the replicas that they have.",
		Seen:    "the lease is absent, has no holder or has run out, and no manager answers with decisions",
		Mend:    "kubectl get pods,lease -n SYSTEM && kubectl logs -n SYSTEM -l control-plane=controller-manager --tail=50",
		Advice:  "With leader election off, or with another namespace or lease: --manager URL, --system-namespace, --leader-election-id.",
		Related: []string{"alert WVAAbsent"},
	},
	{
		Code: "WVA0106", Name: "lease-of-another", Sentence: "The lease is held by a holder that is not a pod of a manager",
		Means: "No manager of the cluster leads while the holder renews the lease, and none decides.",
		Seen:  "the name of the holder is that of no pod in the namespace of the lease, and no manager answers with decisions",
		Mend:  "kubectl delete lease LEASE -n SYSTEM", Advice: "First end the process that renews it, such as a manager on a developer's machine.",
		Related: []string{"alert WVAAbsent"},
	},
	{
		Code: "WVA0107", Name: "manager-may-not-read", Sentence: "The manager may not read what it needs",
		Means:  "What the manager does not see it does not scale, or it is not Ready at all.",
		Seen:   "a SubjectAccessReview of the manager's service account is denied for a rule of its role",
		Mend:   "kubectl get clusterrole,clusterrolebinding -o name | grep workload-variant-autoscaler && kubectl apply -f config/rbac/role.yaml -f config/rbac/bindings.yaml",
		Advice: "helm upgrade restores the roles of the chart.",
	},
	{
		Code: "WVA0108", Name: "manager-may-not-write-status", Sentence: "The manager may not write the status of VariantAutoscalings",
		Means: "Decisions are published as metrics, and no object shows them: the columns of kubectl get va stay as they were.",
		Seen:  "a SubjectAccessReview of the manager's service account is denied for update of variantautoscalings/status",
		Mend:  "kubectl apply -f config/rbac/role.yaml -f config/rbac/bindings.yaml", Advice: "helm upgrade restores the roles of the chart.",
		Related: []string{"event StatusNotWritten"}, Behind: []Code{"WVA0103"},
	},
	{
		Code: "WVA0109", Name: "manager-not-ready", Sentence: "A pod of the manager is not Ready",
		Means:   "It takes no requests for External Metrics; if it is the only one, nothing is decided.",
		Seen:    "the condition Ready of a pod with the manager's labels is not True; the evidence has the state of its container",
		Mend:    "kubectl describe pod POD -n SYSTEM && kubectl logs POD -n SYSTEM --tail=50",
		Related: []string{"alert WVAAbsent"},
	},
}
