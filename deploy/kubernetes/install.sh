#!/usr/bin/env bash
# Installs the chart of this checkout with Helm. See --help.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"

usage() {
	cat <<'EOF'
usage: install.sh [--dry-run] [--namespace NS] [--release NAME] [--values FILE]... [-- HELM-ARGUMENT...]

Installs the Workload Variant Autoscaler, or upgrades it, CRD included.

  --dry-run         show what would be done: commands, and the objects as the
                    cluster would take them, if it has the CRD; changes nothing
  --namespace NS    default workload-variant-autoscaler-system; created if need be
  --release NAME    default workload-variant-autoscaler
  --values FILE     values of the chart, several in order
  --remove          uninstall the release; the CRD and the VariantAutoscalings stay
  --help            this text

What follows -- goes to helm, for example: -- --set prometheus.baseURL=https://prometheus.example.com
The cluster is that of the current kubeconfig context. Needs helm and kubectl.
EOF
}

chart="$(cd "$here/../.." && pwd)/charts/workload-variant-autoscaler"
namespace=workload-variant-autoscaler-system
release=workload-variant-autoscaler
dry_run=false
remove=false
values=()

# needed stops at an option without its value.
needed() {
	if [[ $# -lt 2 || -z "$2" ]]; then
		echo "install.sh: $1 needs a value" >&2
		exit 2
	fi
}

while [[ $# -gt 0 ]]; do
	case "$1" in
	--dry-run) dry_run=true ;;
	--remove) remove=true ;;
	--namespace) needed "$@"; namespace="$2"; shift ;;
	--release) needed "$@"; release="$2"; shift ;;
	--values) needed "$@"; values+=(--values "$2"); shift ;;
	--help | -h) usage; exit 0 ;;
	--) shift; break ;;
	*) echo "install.sh: unknown argument $1 (see --help)" >&2; exit 2 ;;
	esac
	shift
done

for program in helm kubectl; do
	if ! command -v "$program" >/dev/null; then
		echo "install.sh: $program is not installed (or not in PATH: make helm localcluster builds both in .local/bin)" >&2
		exit 1
	fi
done

# run says what it does, and does it unless only that was asked for.
run() {
	printf '+ %q' "$1"
	printf ' %q' "${@:2}"
	printf '\n'
	if ! $dry_run; then
		"$@"
	fi
}

if ! context="$(kubectl config current-context)"; then
	echo "install.sh: kubectl points to no cluster: choose one with kubectl config use-context, or by KUBECONFIG" >&2
	exit 1
fi
echo "cluster: $context, namespace $namespace, release $release"

if $remove; then
	run helm uninstall "$release" --namespace "$namespace"
	exit 0
fi

# Helm installs a CRD once and never upgrades it. Objects that exist stay.
run kubectl apply --server-side --force-conflicts -f "$chart/crds"
if $dry_run; then
	by=server
	found="$(kubectl get customresourcedefinition variantautoscalings.llmd.ai --ignore-not-found --output name)" # ends here where it is refused
	if [[ -z "$found" ]]; then
		by=client # the cluster would take no VariantAutoscaling
		echo "The cluster has no CustomResourceDefinition variantautoscalings.llmd.ai yet. What follows is as the chart makes it:"
		echo "whether the cluster takes it, and what others serve there, is not looked at."
	fi
	helm upgrade "$release" "$chart" --install --namespace "$namespace" "--dry-run=$by" \
		${values[@]+"${values[@]}"} "$@"
	exit 0
fi
run helm upgrade "$release" "$chart" --install --namespace "$namespace" --create-namespace ${values[@]+"${values[@]}"} "$@"
# Not helm's --wait: it waits for VariantAutoscalings too, and the Deployment of one may be yet to come.
run kubectl rollout status deployment --namespace "$namespace" --selector "app.kubernetes.io/instance=$release" --timeout 5m
