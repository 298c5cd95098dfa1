#!/bin/sh
# Prints "NAME VERSION" for each of the named programs, and for NVIDIA's driver, if this machine is a node. Its
# certificate's path first.
test -e "$1" || exit 0
shift
for name; do
  # "Kubernetes v1.2.3", "containerd github.com/containerd/containerd/v2 v2.2.1 <commit>"
  version=$("/usr/local/bin/$name" --version 2>/dev/null | grep --only-matching --max-count=1 ' v\?[0-9][0-9.]*[0-9]\( \|$\)' | tr --delete ' v')
  # A program that cannot print it is broken: it is repaired, not kept.
  if [ -n "$version" ]; then echo "$name $version"; fi
done
# As "nvidia:debian-12 535.309.01": the pinned branch depends on the system.
if [ -e /sys/module/nvidia/version ]; then
  # shellcheck source=/dev/null
  (. /etc/os-release && echo "nvidia:$ID-$VERSION_ID $(cat /sys/module/nvidia/version)")
fi
