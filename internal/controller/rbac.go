package controller

// What the manager may do, for controller-gen. Reading is for informers, except
// the scale subresource, which is read for kinds that have none. ConfigMaps are
// those of the published names alone, each watched by itself; another name, by
// CONFIG_MAP_NAME or SATURATION_CONFIG_MAP_NAME, is for its user to allow. Nodes are
// read in limited mode alone, by a role of their own.
//
// By itself the manager writes no workload. Two more roles are for objects with the
// annotation wva.llmd.ai/actuation, for their users to bind: one to set replicas by
// the scale subresource, and one to mark the pods that should go first, which is
// apart because whoever may patch a pod may also change what it runs.
//
// +kubebuilder:rbac:groups=llmd.ai,resources=variantautoscalings,verbs=get;list;watch
// +kubebuilder:rbac:groups=llmd.ai,resources=variantautoscalings/status,verbs=get;update;patch
// +kubebuilder:rbac:groups=apps,resources=deployments;statefulsets;replicasets,verbs=get;list;watch
// +kubebuilder:rbac:groups=autoscaling,resources=horizontalpodautoscalers,verbs=get;list;watch
// +kubebuilder:rbac:groups=keda.sh,resources=scaledobjects,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=pods;namespaces,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get;list;watch,roleName=workload-variant-autoscaler-node-reader-role
// +kubebuilder:rbac:groups="",resources=configmaps,resourceNames=accelerator-unit-costs;accelerator-unitcost;capacity-scaling-config;model-scale-to-zero-config;saturation-scaling-config;service-classes-config;serviceclass;variantautoscaling-config;workload-variant-autoscaler-variantautoscaling-config;wva-model-scale-to-zero-config;wva-quota-config;wva-saturation-scaling-config;wva-variantautoscaling-config,verbs=get;list;watch
// +kubebuilder:rbac:groups="*",resources="*/scale",verbs=get
// +kubebuilder:rbac:groups="*",resources="*/scale",verbs=update,roleName=workload-variant-autoscaler-scaler-role
// +kubebuilder:rbac:groups="",resources=pods,verbs=patch,roleName=workload-variant-autoscaler-pod-marker-role
// +kubebuilder:rbac:groups="";events.k8s.io,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=workload-variant-autoscaler-system,resources=leases,verbs=get;create;update
