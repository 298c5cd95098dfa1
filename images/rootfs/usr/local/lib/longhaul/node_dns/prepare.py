"""Before the DNS cache starts, make its address and its packet filter, find the machine's resolvers, and give pods the
cache.

The address is on the loopback interface: a machine has no other interface that is always there, and not every kernel
has dummy interfaces.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from node.place import RESOLVED, write

from contract.node_dns import ADDRESS, KUBELET_DROP_IN, KUBELET_SETTING, RESOLVER

RESOLV_CONF = Path("/etc/resolv.conf")

HAVE_ADDRESS = ("ip", "address", "replace", f"{ADDRESS}/32", "dev", "lo", "scope", "host")
"""Command that makes the address. By its scope, the kernel never takes it as the source of a packet to others."""
HAVE_RULES = ("nft", "--file", "-")

RULES = f"""\
table inet longhaul_dns
delete table inet longhaul_dns
table inet longhaul_dns {{
  chain prerouting {{
    type filter hook prerouting priority raw; policy accept;
    ip daddr {ADDRESS} iifname != "lo" iifname != "veth*" counter drop
    ip daddr {ADDRESS} meta l4proto {{ tcp, udp }} th dport 53 notrack
  }}
  chain output {{
    type filter hook output priority raw; policy accept;
    ip saddr {ADDRESS} meta l4proto {{ tcp, udp }} th sport 53 notrack
    ip daddr {ADDRESS} meta l4proto {{ tcp, udp }} th dport 53 notrack
  }}
  chain input {{
    type filter hook input priority filter; policy accept;
    ip daddr {ADDRESS} iifname "veth*" meta l4proto {{ tcp, udp }} th dport != 53 counter drop
  }}
}}
"""
"""The node's own pods and programs reach the cache, and nothing else at its address. Connections to it are not tracked,
so that questions fill no table of the kernel (as in kubernetes/dns, ``cmd/node-cache/app/cache_app.go``)."""


def resolver(resolved: Path = RESOLVED, resolv_conf: Path = RESOLV_CONF) -> Path:
    """Return the file with the machine's resolvers. The cache asks those of systemd-resolved itself, as pods do."""
    return resolved if resolved.exists() else resolv_conf


def link(path: Path, target: Path) -> None:
    """Make ``path`` a link to ``target``, in one step."""
    new = path.with_name(f".{path.name}.new")
    new.unlink(missing_ok=True)
    new.symlink_to(target)
    os.replace(new, path)


def main() -> int:
    """Return 0 once all is there, or 1 if a command fails."""
    try:
        subprocess.run(HAVE_ADDRESS, check=True)
        subprocess.run(HAVE_RULES, input=RULES, text=True, check=True)
    except subprocess.CalledProcessError as error:
        print(error, file=sys.stderr)
        return 1
    link(Path(RESOLVER), resolver())
    write(Path(KUBELET_DROP_IN), Path(KUBELET_SETTING).read_text())
    return 0
