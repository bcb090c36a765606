#!/usr/bin/env bash
# Installs the chart in a kind cluster, with the image of IMG loaded into its
# nodes where IMG is set: from Docker, or from the archive IMG_ARCHIVE, such as
# make docker-build makes. deploy/kubernetes/install.sh with the values for trying
# things. Arguments are the same; --help lists them.
#
#   IMG=example.com/wva:dev CLUSTER=kind deploy/kind/install.sh
#   IMG=example.com/wva:dev IMG_ARCHIVE=.local/image.tar deploy/kind/install.sh
#
# For make alone, without Docker or kind, there is test/localcluster.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
cluster="${CLUSTER:-kind}"
image=()

for argument in "$@"; do
	case "$argument" in
	--) break ;;
	--help | -h) exec "$here/../kubernetes/install.sh" --help ;;
	--dry-run | --remove) IMG= IMG_ARCHIVE= ;; # changes nothing, or needs none
	esac
done

if [[ -n "${IMG_ARCHIVE:-}" && -z "${IMG:-}" ]]; then
	echo "install.sh: IMG_ARCHIVE is set and IMG is not; want the name of the image in it, as repository:tag" >&2
	exit 2
fi

if [[ -n "${IMG:-}" ]]; then
	tag="${IMG##*:}"
	if [[ "$IMG" != *:* || "$tag" == */* || "$IMG" == *@* ]]; then
		echo "install.sh: IMG is $IMG; want repository:tag" >&2
		exit 2
	fi
	load=(kind load docker-image "$IMG" --name "$cluster")
	if [[ -n "${IMG_ARCHIVE:-}" ]]; then
		load=(kind load image-archive "$IMG_ARCHIVE" --name "$cluster")
	fi
	echo "+ ${load[*]}"
	"${load[@]}"
	file="$(mktemp)"
	trap 'rm -f "$file"' EXIT
	printf 'controller: {image: {repository: "%s", tag: "%s"}}\n' "${IMG%:*}" "$tag" >"$file"
	image=(--values "$file")
fi

"$here/../kubernetes/install.sh" \
	--values "$here/../../charts/workload-variant-autoscaler/ci/kind-values.yaml" ${image[@]+"${image[@]}"} "$@"
