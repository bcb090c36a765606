// Package external serves the decisions as External Metrics
// (external.metrics.k8s.io/v1beta1), from which a HorizontalPodAutoscaler reads them:
// without an adapter, without Prometheus and without the delay of a scrape.
//
// A Store holds the decisions of this process, the Provider selects from it by labels, the
// Server is an extension API server around the Provider. There is one item per variant,
// with the labels of the replica gauges of package metrics and exported_namespace, so that
// the selectors of all published HorizontalPodAutoscalers match:
//
//	target_name, target_kind
//	variant_name, exported_namespace
//	variant_name, exported_namespace, controller_instance
//
// A process that does not lead has no decisions; it answers from a Fallback, which reads
// the status of the resources. Where neither answers, the request fails, and the autoscaler
// holds: it never reads a number that no cycle decided.
//
// The Server is built from the parts of sigs.k8s.io/custom-metrics-apiserver and
// k8s.io/apiserver that this API needs: request routing, discovery, delegated
// authentication and authorization. It leaves out the other parts of a general API server
// (storage, admission, OpenAPI, audit, priority and fairness, profiling, its own
// informers), to save memory. The package does not change the flags of the process. The
// libraries count their requests in the registry of k8s.io/component-base, which the
// manager does not export.
//
// # Permissions
//
// The service account needs
//
//   - the ClusterRole system:auth-delegator (ClusterRoleBinding): create
//     tokenreviews and subjectaccessreviews;
//   - the Role extension-apiserver-authentication-reader in kube-system
//     (RoleBinding there): get the ConfigMap extension-apiserver-authentication,
//     which holds the authority that signs for the API server's proxy.
//
// A client needs the verb list on the metric's name in external.metrics.k8s.io; the
// ClusterRole of the HorizontalPodAutoscaler controller has it. The APIService
// v1beta1.external.metrics.k8s.io points at the Service of the Server, with the CA of its
// certificate, or insecureSkipTLSVerify where the certificate is self-signed.
package external
