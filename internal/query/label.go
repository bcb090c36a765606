package query

// The labels in the answers of a metrics store. RowOf reads them.
const (
	LabelNamespace = "namespace"
	// LabelPod names the pod, and LabelPodName where LabelPod is missing.
	LabelPod     = "pod"
	LabelPodName = "pod_name"
	// LabelModel is the model as an engine names it.
	LabelModel = "model_name"
	// LabelWitness is the name of the witness that a page shows, missing for vLLM's own.
	LabelWitness = "witness"
	// LabelJob is the job that scraped the page.
	LabelJob = "job"
	// LabelInstance is the address of the page.
	LabelInstance = "instance"
	// LabelBound is the upper bound of a histogram's bucket, as text.
	LabelBound = "le"
	// LabelStat is the name of the quantity, in the rows of a question about several.
	LabelStat = "stat"
	// LabelGatewayModel is the model of a row of a gateway: LabelTargetModel, the model to which
	// the picker rewrote the request and by which the engine knows it, where that is not empty,
	// else the model that the client asked for.
	LabelGatewayModel = "model"
	LabelTargetModel  = "target_model_name"
	// LabelCacheTokens is the size of the KV cache of a pod in tokens, as text, "None" when
	// unknown. Where it is missing, the size is LabelBlocks x LabelBlockSize.
	LabelCacheTokens = "kv_cache_size_tokens"
	LabelBlocks      = "num_gpu_blocks"
	LabelBlockSize   = "block_size"
	// LabelErrorCode is the error with which a request ended at an endpoint picker.
	LabelErrorCode = "error_code"
)
