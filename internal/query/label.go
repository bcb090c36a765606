package query

// The labels of what a metrics store answers. RowOf reads them.
const (
	LabelNamespace = "namespace"
	// LabelPod names the pod, LabelPodName where the former is missing.
	LabelPod     = "pod"
	LabelPodName = "pod_name"
	// LabelModel is the model as an engine names it.
	LabelModel = "model_name"
	// LabelWitness is the name of the witness that a page shows, where that is not
	// vLLM's own.
	LabelWitness = "witness"
	// LabelJob is what scraped the page.
	LabelJob = "job"
	// LabelInstance is the address of the page.
	LabelInstance = "instance"
	// LabelBound is the upper bound of a histogram's bucket, as text.
	LabelBound = "le"
	// LabelStat tells apart the rows of a question about several quantities: it
	// is the name of the quantity.
	LabelStat = "stat"
	// LabelGatewayModel is the model of a row of a gateway: LabelTargetModel,
	// what the picker rewrote the request to and the engine calls the model,
	// where that is not empty, else what the client asked for.
	LabelGatewayModel = "model"
	LabelTargetModel  = "target_model_name"
	// LabelCacheTokens is the KV cache of a pod in tokens. Where it is missing,
	// LabelBlocks x LabelBlockSize. Text, "None" when unknown.
	LabelCacheTokens = "kv_cache_size_tokens"
	LabelBlocks      = "num_gpu_blocks"
	LabelBlockSize   = "block_size"
	// LabelErrorCode is why an endpoint picker did not send a request on.
	LabelErrorCode = "error_code"
)
