#!/bin/sh
# Checks a machine and changes nothing. Prints a line for each result: "problem" and a fault, "unhealthy" and a fault of a node that a run may
# repair, or "fact", name and value.
# Arguments, each NAME=VALUE: systems, the operating systems that it may run, with spaces between, and systems_titles, their names for people; address in the plan; public address, or nothing; api, the cluster's URL; authority, common name of the one that
# signs its nodes' certificates; free, required free space on disks, MiB, and on those
# of a joining node for its images (images_free) and for the rest (kubelet_free); node, "yes" for a future node; mtu, the largest
# packet between sites, bytes; rdma, its RDMA network (infiniband, roce), or nothing, and rdma_place, where that is declared; gateways, addresses that packets to other sites go through, with spaces between;
# ssh, ranges that the machine will accept SSH from, with spaces between.
systems='' systems_titles='' address='' public='' api='' authority='' free=0 images_free=0 kubelet_free=0 node='' rdma='' rdma_place='' mtu='' gateways='' ssh=''
for argument; do
  value=${argument#*=}
  case $argument in
    systems=*) systems=$value ;;
    systems_titles=*) systems_titles=$value ;;
    address=*) address=$value ;;
    public=*) public=$value ;;
    api=*) api=$value ;;
    authority=*) authority=$value ;;
    free=*) free=$value ;;
    images_free=*) images_free=$value ;;
    kubelet_free=*) kubelet_free=$value ;;
    node=*) node=$value ;;
    rdma=*) rdma=$value ;;
    rdma_place=*) rdma_place=$value ;;
    mtu=*) mtu=$value ;;
    gateways=*) gateways=$value ;;
    ssh=*) ssh=$value ;;
    *) echo "there is no argument $argument" >&2 && exit 2 ;;
  esac
done
certificate=/var/lib/kubelet/pki/kubelet-client-current.pem
problem() { echo "problem $*"; }
fact() { echo "fact $*"; }

if [ -e $certificate ]; then fact node; fi

# shellcheck disable=SC1091 # the machine's own
. /etc/os-release 2>/dev/null
case " $systems " in
  *" ${ID:-unknown}-${VERSION_ID:-} "*) ;;
  *) problem "the system is ${PRETTY_NAME:-unknown}: $systems_titles are known to work" ;;
esac
[ -d /run/systemd/system ] || problem "systemd does not run: it has to be the machine's process 1"
[ "$(id -u)" = 0 ] || problem "this is $(id -un), not root, and sudo does not help: let it use sudo without a password"
case $(uname -m) in
  x86_64 | aarch64) ;;
  *) problem "the processor is $(uname -m): x86_64 and aarch64 are known to work" ;;
esac
# kube-proxy refuses to use nftables with less (kubernetes v1.36, pkg/util/kernel/constants.go).
kernel=$(uname -r)
if [ "$(printf '%s\n' 5.13 "$kernel" | sort --version-sort | head -n 1)" != 5.13 ]; then
  problem "the kernel is $kernel, kube-proxy needs 5.13 or later: install the system's own kernel and restart"
fi
if python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then :; else
  problem "there is no Python 3.11 or later at python3: apt-get install python3"
fi

# Its filter must not lock out the person who runs this: the process that SSH started knows the address, those that sudo starts do not.
from='' process=$$
while [ -n "$ssh" ] && [ -z "$from" ] && [ "${process:-0}" -gt 1 ]; do
  from=$(tr '\0' '\n' <"/proc/$process/environ" 2>/dev/null | sed -n 's/^SSH_CONNECTION=\([^ ]*\) .*/\1/p')
  process=$(sed -n 's/^PPid:[[:space:]]*//p' "/proc/$process/status")
done
within='import sys, ipaddress as ip; sys.exit(not any(ip.ip_address(sys.argv[1]) in ip.ip_network(one) for one in sys.argv[2:]))'
# shellcheck disable=SC2086 # the ranges are words
if [ -n "$from" ] && ! python3 -c "$within" "$from" $ssh 2>/dev/null; then
  problem "you come from $from, and SSH will be accepted from $ssh alone: name your address in access.operators_inside"
fi

has() { ip -oneline -4 address show 2>/dev/null | grep -qF " $1/"; }
if ! has "$address"; then
  held=$(ip -oneline -4 address show scope global | awk '{ print $4 }' | paste -sd ' ')
  problem "no interface has $address, its address in the plan (it has: ${held:-none}): set it, or change the plan"
fi
if [ -n "$public" ] && has "$public"; then fact public_address_here; fi

# Prints the mount point and the free MiB of the file system that a folder is on, or will be.
disk() {
  folder=$1
  while [ ! -d "$folder" ]; do folder=$(dirname "$folder"); done
  df -P -k "$folder" | awk 'NR == 2 { print $6, int($4 / 1024) }'
}

# room FOLDER MIB WHY: reports each full file system once.
full=' '
room() {
  # shellcheck disable=SC2046 # two words
  set -- "$@" $(disk "$1")
  case $full in *" $4 "*) return ;; esac
  if [ "$5" -ge "$2" ]; then return; fi
  problem "$4, where $1 is, has $5 MiB left, and $2 are needed$3: make room"
  full="$full$4 "
}
if [ "$node" = yes ] && [ ! -e $certificate ]; then
  # With less its kubelet accepts no pods. A running kubelet handles that itself.
  room /var/lib/containerd "$images_free" " for the kubelet to take pods"
  room /var/lib/kubelet "$kubelet_free" " for the kubelet to take pods"
fi
room /usr "$free" ""

# Kubeconfigs of a kubelet of Longhaul, kubeadm, k3s and rke2. One that points to this cluster belongs to it, or to
# an earlier one in its place: role node decides.
abroad=
for file in /var/lib/kubelet/kubeconfig /etc/kubernetes/kubelet.conf /var/lib/rancher/*/agent/kubelet.kubeconfig; do
  [ -e "$file" ] || continue
  server=$(sed -n 's/^[[:space:]]*"\{0,1\}server"\{0,1\}: *"\{0,1\}\([^", ]*\).*/\1/p' "$file" | head -n 1)
  if [ "$server" != "$api" ]; then
    abroad=yes
    problem "it is in another cluster: $file leads to ${server:-none}, not to $api: take it out there, and remove the file"
  fi
done
if [ -z "$abroad" ] && [ -e $certificate ] && command -v openssl >/dev/null; then
  issuer=$(openssl x509 -noout -issuer -nameopt multiline -in $certificate 2>/dev/null | sed -n 's/^ *commonName *= //p')
  [ "$issuer" = "$authority" ] || problem "it is in another cluster: $certificate is of ${issuer:-nobody}, not of" \
    "$authority: take it out there, and remove the file"
fi

# A single packet may be lost, and one that is too large never arrives.
passes() {
  for _ in 1 2 3; do
    if said=$(ping -c 1 -W 1 -M 'do' -s "$2" "$1" 2>&1); then return 0; fi
  done
  return 1
}
if [ "$node" = yes ] && command -v ping >/dev/null; then
  for gateway in $gateways; do
    # A gateway that does not answer at all may not be set up yet.
    passes "$gateway" 56 || continue
    # IPv4's header and ICMP's.
    if ! passes "$gateway" $((mtu - 28)); then
      known=$(echo "$said" | sed -n 's/.*\(mtu *= *[0-9]*\).*/ (\1)/p' | head -n 1)
      problem "packets of $mtu bytes do not get to the gateway $gateway$known: let every interface and switch between pass them"
    fi
  done
fi

# Adapters are on the PCI bus before any driver is loaded: Mellanox's, network controllers of Ethernet or InfiniBand. The type of their ports is
# known once a driver runs. A run repairs a node in spite of this fault.
if [ -n "$rdma" ]; then
  if [ -e $certificate ]; then wrong=unhealthy; else wrong=problem; fi
  adapters=0
  for device in /sys/bus/pci/devices/*; do
    [ "$(cat "$device/vendor" 2>/dev/null)" = 0x15b3 ] || continue
    case $(cat "$device/class") in 0x0200?? | 0x0207??) adapters=$((adapters + 1)) ;; esac
  done
  case $rdma in infiniband) layer=InfiniBand ;; *) layer=Ethernet ;; esac
  if [ $adapters = 0 ]; then
    echo "$wrong rdma is $rdma ($rdma_place), and no Mellanox adapter is on the PCI bus: see that it is seated and on in the firmware," \
      "or leave rdma out"
  elif cat /sys/class/infiniband/*/ports/*/link_layer >/dev/null 2>&1 &&
    ! grep -qx $layer /sys/class/infiniband/*/ports/*/link_layer; then
    echo "$wrong rdma is $rdma ($rdma_place), and no port of its adapters is $layer: set the ports' type in the adapters' firmware, or" \
      "correct rdma"
  fi
fi

# Tests in a temporary namespace whether the kernel has ESP; the test loads existing modules.
key=0x0102030405060708090a0b0c0d0e0f1011121314
if unshare --net ip xfrm state add src 127.0.0.1 dst 127.0.0.1 proto esp spi 0x1000 reqid 1 mode tunnel \
  aead 'rfc4106(gcm(aes))' $key 128 2>/dev/null; then fact kernel_esp; fi
