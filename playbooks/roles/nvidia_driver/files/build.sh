#!/bin/sh
# Ensures that each kernel has a module of NVIDIA's driver of the version. Arguments: the version, then releases of kernels. Builds missing
# modules with DKMS, and prints the releases that it built for.
set -u
version=$1
shift

of() { modinfo -k "$1" -F version nvidia 2>/dev/null || modinfo -k "$1" -F version nvidia-current 2>/dev/null; }

for kernel; do
  [ "$(of "$kernel")" = "$version" ] && continue
  # Half-built remains of a killed run do no harm: DKMS builds in a folder that it empties first.
  # Success is checked below: other modules may fail beside it.
  said=$(dkms autoinstall --kernelver "$kernel" 2>&1)
  if [ "$(of "$kernel")" != "$version" ]; then
    echo "$said" >&2
    tail -n 20 /var/lib/dkms/*/"$version"/build/make.log >&2 2>/dev/null
    found=$(of "$kernel")
    echo "NVIDIA's driver $version has no module that fits the kernel $kernel (it has: ${found:-none}): is the kernel newer than the" \
      "driver knows? Boot an older kernel, or pin a newer branch in images/operating_systems.toml" >&2
    exit 1
  fi
  echo "$kernel"
done
