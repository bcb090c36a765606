package controller

// What the manager may do, for controller-gen; a test holds each verb against the
// API server's audit log. Reading is for informers, which watch, and list where the
// API server does not stream lists (its feature WatchList). Two things are read by
// themselves: the scale subresource, of kinds that have no informer, and ConfigMaps,
// when the manager starts. ConfigMaps are those of the published names alone, each
// watched by itself; another name, by CONFIG_MAP_NAME or SATURATION_CONFIG_MAP_NAME, is
// for its user to allow. Nodes are read in limited mode alone, by a role of their own.
//
// Scales are those of the API groups of config/rbac.TargetGroups; a kind of another group
// is for its user to allow too, by rbac.targetGroups of the chart.
//
// Events are patched when an object that has not changed is told of something of the
// same kind again within six minutes; those in the core group are of leader election,
// which tells nothing twice.
//
// What a manager has learned it keeps in ConfigMaps of its own namespace, by the names
// of the kinds of internal/store. RBAC cannot tell names apart for create.
//
// What it has decided on annotated HorizontalPodAutoscalers and ScaledObjects it keeps there too: of
// those it reads alone, and tells events.
//
// By itself the manager writes no workload. Two more roles are for objects with the
// annotation wva.llmd.ai/actuation, for their users to bind: one to set replicas by
// the scale subresource, and one to mark the pods that should go first, which is
// apart because a right to patch a pod is also a right to change what it runs.
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
