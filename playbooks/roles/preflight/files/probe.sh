#!/bin/sh
# Looks at a machine and changes nothing. Prints a line for each thing: "problem" what is wrong, or "fact" name and value.
# Arguments: the machine's address in the plan, its public address or "-".
address=$1 public=$2
problem() { echo "problem $*"; }
fact() { echo "fact $*"; }

# shellcheck disable=SC1091 # the machine's own
. /etc/os-release 2>/dev/null
case ${ID:-unknown}-${VERSION_ID:-} in
  debian-12 | ubuntu-24.04) ;;
  *) problem "the system is ${PRETTY_NAME:-unknown}: Debian 12 and Ubuntu 24.04 are known to work" ;;
esac
[ -d /run/systemd/system ] || problem "systemd does not run: it has to be the machine's process 1"
[ "$(id -u)" = 0 ] || problem "this is $(id -un), not root, and sudo does not help: let it use sudo without a password"
case $(uname -m) in
  x86_64 | aarch64) ;;
  *) problem "the processor is $(uname -m): x86_64 and aarch64 are known to work" ;;
esac
if python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then :; else
  problem "there is no Python 3.11 or later at python3: apt-get install python3"
fi

has() { ip -oneline -4 address show 2>/dev/null | grep -qF " $1/"; }
if ! has "$address"; then
  held=$(ip -oneline -4 address show scope global | awk '{ print $4 }' | paste -sd ' ')
  problem "no interface has $address, its address in the plan (it has: ${held:-none}): set it, or change the plan"
fi
if [ "$public" != - ] && has "$public"; then fact public_address_here; fi

# Whether the kernel has ESP is tried in a namespace that is thrown away; trying loads the modules that there are.
key=0x0102030405060708090a0b0c0d0e0f1011121314
if unshare --net ip xfrm state add src 127.0.0.1 dst 127.0.0.1 proto esp spi 0x1000 reqid 1 mode tunnel \
  aead 'rfc4106(gcm(aes))' $key 128 2>/dev/null; then fact kernel_esp; fi

echo "clock $(date +%s)"
