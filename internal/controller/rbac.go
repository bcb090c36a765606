package controller

// The rights of the manager, for controller-gen. A test compares each verb with the
// audit log of the API server. Informers watch, and list where the API server does not
// stream lists (its feature WatchList). Two kinds are read with get: the scale
// subresource, of kinds that have no informer, and ConfigMaps, when the manager starts.
// The rights cover ConfigMaps of the published names alone, each with its own watch.
// Users who set CONFIG_MAP_NAME or SATURATION_CONFIG_MAP_NAME must allow that name.
// Nodes are read in limited mode alone, by a role of their own.
//
// Scales are those of the API groups of config/rbac.TargetGroups. For a kind of another
// group, users must allow it by rbac.targetGroups of the chart.
//
// Events are patched when an event of the same kind about an unchanged object recurs
// within six minutes. Events in the core group are of leader election, which repeats
// none.
//
// A manager keeps what it has learned in ConfigMaps of its own namespace, with the names
// of the kinds of internal/store. RBAC cannot tell names apart for create. Its decisions
// for annotated HorizontalPodAutoscalers and ScaledObjects are there too: it reads these
// scalers and creates events about them, and does not write them.
//
// By default the manager writes no workload. Two more roles are for objects with the
// annotation wva.llmd.ai/actuation; their users bind them. One sets replicas by the scale
// subresource. The other marks the pods that should be removed first; it is separate
// because a right to patch a pod is also a right to change its image.
//
// +kubebuilder:rbac:groups=llmd.ai,resources=variantautoscalings,verbs=list;watch
// +kubebuilder:rbac:groups=llmd.ai,resources=variantautoscalings/status,verbs=update
// +kubebuilder:rbac:groups=apps,resources=deployments;statefulsets;replicasets,verbs=list;watch
// +kubebuilder:rbac:groups=autoscaling,resources=horizontalpodautoscalers,verbs=list;watch
// +kubebuilder:rbac:groups=keda.sh,resources=scaledobjects,verbs=list;watch
// +kubebuilder:rbac:groups=leaderworkerset.x-k8s.io,resources=leaderworkersets,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=pods;namespaces,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=nodes,verbs=list;watch,roleName=workload-variant-autoscaler-node-reader-role
// +kubebuilder:rbac:groups="",resources=configmaps,resourceNames=accelerator-unit-costs;accelerator-unitcost;capacity-scaling-config;model-scale-to-zero-config;saturation-scaling-config;service-classes-config;serviceclass;variantautoscaling-config;workload-variant-autoscaler-variantautoscaling-config;wva-model-scale-to-zero-config;wva-quota-config;wva-saturation-scaling-config;wva-schedule-config;wva-variantautoscaling-config,verbs=get;list;watch
// +kubebuilder:rbac:groups=apps;leaderworkerset.x-k8s.io,resources="*/scale",verbs=get
// +kubebuilder:rbac:groups=apps;leaderworkerset.x-k8s.io,resources="*/scale",verbs=update,roleName=workload-variant-autoscaler-scaler-role
// +kubebuilder:rbac:groups="",resources=pods,verbs=patch,roleName=workload-variant-autoscaler-pod-marker-role
// +kubebuilder:rbac:groups="",resources=events,verbs=create
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=workload-variant-autoscaler-system,resources=leases,verbs=create
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=workload-variant-autoscaler-system,resources=leases,resourceNames=72dd1cf1.llm-d.ai,verbs=get;update
// +kubebuilder:rbac:groups="",namespace=workload-variant-autoscaler-system,resources=configmaps,verbs=create
// +kubebuilder:rbac:groups="",namespace=workload-variant-autoscaler-system,resources=configmaps,resourceNames=wva-store-fits,verbs=get;update
// +kubebuilder:rbac:groups="",namespace=workload-variant-autoscaler-system,resources=configmaps,resourceNames=wva-store-decisions,verbs=get;update
// +kubebuilder:rbac:groups="",namespace=workload-variant-autoscaler-system,resources=configmaps,resourceNames=wva-store-start-ups,verbs=get;update
