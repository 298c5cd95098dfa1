#!/bin/sh
# Runs AWS's EFA installer: kernel module and rdma-core, neither libfabric nor Open MPI, which are in pods' images.
# Arguments: the archive; its SHA-256; the folder that records the installation.
set -eu
archive=$1 digest=$2 folder=$3
if ! echo "$digest  $archive" | sha256sum --check --status; then
  echo "$archive has the SHA-256 $(sha256sum "$archive" | cut -d ' ' -f 1), not $digest: nothing was installed" >&2
  exit 1
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tar --extract --gzip --no-same-owner --file "$archive" --directory "$work" --strip-components 1
(cd "$work" && ./efa_installer.sh --yes --minimal)
mkdir -p "$folder"
echo "$digest" >"$folder/longhaul-efa.sha256"
