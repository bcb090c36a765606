#!/usr/bin/env bash
# Installs the chart for OpenShift: deploy/kubernetes/install.sh with the values
# for its cluster monitoring. Arguments are the same; --help lists them.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"

exec "$here/../kubernetes/install.sh" \
	--values "$here/../../charts/workload-variant-autoscaler/ci/openshift-values.yaml" "$@"
