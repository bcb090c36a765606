#!/usr/bin/env bash
# Installs the chart of this checkout with Helm. See --help.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"

usage() {
	cat <<'EOF'
usage: install.sh [--dry-run] [--namespace NS] [--release NAME] [--values FILE]... [-- HELM-ARGUMENT...]

Installs the Workload Variant Autoscaler, or upgrades it, CRD included.

  --dry-run         show what would be done: commands, and the objects as the
                    cluster would take them; changes nothing
  --namespace NS    default workload-variant-autoscaler-system; created if need be
  --release NAME    default workload-variant-autoscaler
  --values FILE     values of the chart, several in order
  --remove          uninstall the release; the CRD and the VariantAutoscalings stay
  --help            this text

What follows -- goes to helm, for example: -- --set prometheus.baseURL=https://prometheus.example.com
The cluster is that of the current kubeconfig context. Needs helm and kubectl.
EOF
}

chart="$here/../../charts/workload-variant-autoscaler"
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
		echo "install.sh: $program is not installed" >&2
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

echo "cluster: $(kubectl config current-context), namespace $namespace, release $release"

if $remove; then
	run helm uninstall "$release" --namespace "$namespace"
	exit 0
fi

# Helm installs a CRD once and never upgrades it. Objects that exist stay.
run kubectl apply --server-side --force-conflicts -f "$chart/crds"
if $dry_run; then
	helm upgrade "$release" "$chart" --install --namespace "$namespace" --dry-run=server \
		${values[@]+"${values[@]}"} "$@"
	exit 0
fi
run helm upgrade "$release" "$chart" --install --namespace "$namespace" --create-namespace \
	--wait --timeout 5m ${values[@]+"${values[@]}"} "$@"
