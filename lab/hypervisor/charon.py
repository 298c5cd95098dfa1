"""Parts of one cloud gateway: its links, strongSwan's charon, its tunnels. :mod:`lab.hypervisor.gateways` decides when
to make the parts.

charon runs from the gateways' root file system, as the only process of a container without init. charon's network
namespace lies between the router of the gateway's network and the internet. charon outlives the daemon; the next daemon
finds charon by its container's name. The overlay lies on the lab's tmpfs, and keys are sent over VICI, so no secret
reaches a disk.

kernel-libipsec encrypts packets in user space, behind the interface ``ipsec0``. Packets that no tunnel carries are
dropped here, never sent unencrypted.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import shutil
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from lab.cgroups import ControlGroup
from lab.desired import DesiredGateway, DesiredTunnel, Network
from lab.hypervisor import addresses, nspawn
from lab.hypervisor.commands import command
from lab.hypervisor.container import Container
from lab.hypervisor.namespaces import RUN, Namespace
from lab.hypervisor.networks import ROUTER_SYSCTL, Networks
from lab.hypervisor.router_links import inside_addresses
from lab.hypervisor.settings import HypervisorSettings
from lab.hypervisor.vici import CharonSession, Tree

PROCESS = "gateway."
"""Prefix of the names of gateways' containers; no machine's name has a dot."""
NAMESPACE = "gw-"
TUN = "ipsec0"
MTU = 1400
"""MTU of packets that go into a tunnel. ESP in UDP makes a packet at most 65 bytes longer (AES-GCM: IP 20, UDP 8, ESP
8, IV 8, padding 3, its length and the next header 2, ICV 16). Azure's gateways have the same MTU:
learn.microsoft.com/azure/vpn-gateway/vpn-gateway-about-vpn-devices."""
MSS = 1350
"""TCP segment size to which Azure's gateways clamp (same page)."""
_START_S = 30.0
_OWN_REQID = 2**30
"""First request id of the lab; charon's own counter does not reach it."""

_UNWANTED = ("connmark", "dhcp", "farp", "forecast", "ha", "led", "pkcs11", "resolve", "tpm", "unity")
"""Plugins of Debian's packages that touch the network's configuration, or that only log complaints."""
_STRONGSWAN = """\
charon-systemd {
  plugins {
    kernel-libipsec {
      load = yes
    }
__UNWANTED__
  }
  # A peer that does not answer counts as dead 16 s after the check began, and is dialled at least every 6 s.
  retransmit_timeout = 2.0
  retransmit_base = 1.5
  retransmit_tries = 3
  retransmit_limit = 6
  journal {
    default = -1
  }
  filelog {
    stdout {
      path = /dev/stdout
      time_format = %Y-%m-%dT%H:%M:%S
      flush_line = yes
      default = 1
      net = 0
      enc = 0
    }
  }
}
""".replace("__UNWANTED__", "\n".join(f"    {name} {{\n      load = no\n    }}" for name in _UNWANTED))

_RULES = f"""\
table ip longhaul
delete table ip longhaul
table ip longhaul {{
	chain forward {{
		type filter hook forward priority filter; policy drop;
		tcp flags syn tcp option maxseg size set {MSS}
		iifname "eth0" oifname "{TUN}" accept
		iifname "{TUN}" oifname "eth0" accept
	}}
	chain input {{
		type filter hook input priority filter; policy drop;
		ct state established,related accept
		udp dport {{ 500, 4500 }} accept
		icmp type echo-request accept
	}}
}}
"""


def key_of(gateway_id: str) -> str:
    """Return a gateway's key, which replaces the id where names must be short."""
    return addresses.hashed(gateway_id)


@dataclass
class CharonParts:
    """Parts of one gateway, which is identified by its key."""

    key: str
    settings: HypervisorSettings
    networks: Networks

    @property
    def namespace(self) -> Namespace:
        return Namespace.named(f"{NAMESPACE}{self.key}")

    @property
    def directory(self) -> Path:
        return RUN / "gateways" / self.key

    @cached_property
    def _container(self) -> Container:
        name = f"{PROCESS}{self.key}"
        return Container(name=name, group=ControlGroup.of(self.settings.state, name), run=self.directory)

    def process(self) -> nspawn.ContainerProcess | None:
        """Return the container's process, if it runs."""
        return self._container.process()

    async def link(self, gateway: DesiredGateway, network: Network) -> None:
        """Join the gateway's namespace to its router and to the internet. Idempotent."""
        inside = self.namespace
        await inside.create()
        await inside.set_sysctl(ROUTER_SYSCTL)
        await command(inside.inside(["nft", "-f", "-"]), stdin=_RULES)
        own_addresses = inside_addresses(gateway, network)
        source = f" src {own_addresses[0]}" if own_addresses else ""
        await self.networks.join(gateway.id, network, inside)
        await self.networks.set_addresses(inside, "eth0", [addresses.FAR, *own_addresses])
        await inside.ip(
            [f"route replace {range_} via {addresses.NEAR} dev eth0 onlink{source}" for range_ in network.ranges]
        )
        await self.networks.expose(addresses.gateway_link(gateway.id), inside, sorted(gateway.addresses))

    async def start(self, name: str) -> nspawn.ContainerProcess:
        """Start charon; return its process once the container runs."""
        rootfs = self.settings.gateway_rootfs
        if rootfs is None:
            raise RuntimeError("there is no root file system for gateways (start the lab with --gateway-rootfs)")
        for folder in ("work", "upper/etc/strongswan.d"):
            (self.directory / folder).mkdir(parents=True, exist_ok=True)
        (self.directory / "upper/etc/strongswan.d/lab.conf").write_text(_STRONGSWAN)
        container = self._container
        await container.mount(rootfs, disk=self.directory)
        argv = nspawn.container_argv(
            name=container.name, root=container.root, netns=self.namespace.path, command=["/usr/sbin/charon-systemd"]
        )
        return await container.launch(
            argv, log=self.settings.state.console_log("gateway-" + re.sub(r"[^A-Za-z0-9-]", "-", name))
        )

    async def connect(self, process: nspawn.ContainerProcess) -> CharonSession:
        """Connect to charon once it listens. Raise TimeoutError when charon does not listen in time, ConnectionError
        when charon has ended."""
        async with asyncio.timeout(_START_S):
            while True:
                leader = process.leader()
                with contextlib.suppress(OSError):
                    if leader is not None:
                        return await CharonSession.connect(Path(f"/proc/{leader}/root/run/charon.vici"))
                if not process.alive():
                    raise ConnectionError("charon has ended; see the gateway's console log")
                await asyncio.sleep(0.05)

    async def tune(self) -> None:
        """Set the MTU of charon's interface."""
        await self.namespace.ip([f"link set {TUN} mtu {MTU}"])

    async def spread(self, rules: str) -> None:
        """Apply the rules of :mod:`lab.hypervisor.instances`."""
        await command(self.namespace.inside(["nft", "-f", "-"]), stdin=rules)

    async def stop(self) -> None:
        """End charon."""
        await self._container.end()
        await self._container.unmount()

    async def destroy(self) -> None:
        """End charon and remove the gateway."""
        await self.stop()
        await self.networks.part(self.key)
        await self.namespace.delete()
        if self.directory.exists():
            await asyncio.to_thread(shutil.rmtree, self.directory)


def connection(tunnel: DesiredTunnel) -> Tree:
    """Return a tunnel for ``load-conn`` (swanctl.conf(5)). The lab dials tunnels; charon neither dials nor retries by
    itself."""
    rekey = tunnel.ike_lifetime_s * 9 // 10
    child: Tree = {
        "local_ts": _texts(tunnel.local_ranges),
        "remote_ts": _texts(tunnel.remote_ranges),
        "esp_proposals": [tunnel.esp_proposal],
        "rekey_time": f"{tunnel.esp_lifetime_s * 9 // 10}s",
        "life_time": f"{tunnel.esp_lifetime_s}s",
        "dpd_action": "clear",
    }
    if not tunnel.carries:
        # Without policies no packet matches the association. A separate id keeps packets of other associations from
        # using it.
        child |= {"policies": "no", "reqid": str(_OWN_REQID + zlib.crc32(tunnel.name.encode()) % _OWN_REQID)}
    body: Tree = {
        "version": "2",
        "local_addrs": [str(tunnel.local)],
        "remote_addrs": [str(tunnel.remote)],
        "proposals": [tunnel.ike_proposal],
        "encap": "yes",
        "mobike": "no",
        # The check begins after half of dpd_s and takes 16 s (retransmit_timeout above): about the other half of 30 s.
        "dpd_delay": f"{max(tunnel.dpd_s // 2, 1)}s",
        "keyingtries": "1",
        "rekey_time": f"{rekey}s",
        "over_time": f"{tunnel.ike_lifetime_s - rekey}s",
        "local": {"auth": "psk", "id": str(tunnel.local)},
        "remote": {"auth": "psk", "id": str(tunnel.remote)},
        "children": {tunnel.name: child},
    }
    return {tunnel.name: body}


def shared_key(tunnel: DesiredTunnel) -> Tree:
    """Return a tunnel's key for ``load-shared``."""
    owners = [str(tunnel.local), str(tunnel.remote)]
    return {"id": tunnel.name, "type": "IKE", "data": tunnel.key, "owners": owners}


def _texts(ranges: Sequence[object]) -> list[str]:
    return [str(range_) for range_ in ranges]
