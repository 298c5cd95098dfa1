"""Ansible's inventory of an environment: every on-prem gateway and bare-metal host, and how to reach each. Pure.

The format is Ansible's (docs.ansible.com, "Developing dynamic inventory"). A gateway is reached by its public address,
since it must be set up before any tunnel exists; a host is reached by its address in the plan.
"""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

from components.model import AddressPlan, Environment, plan
from components.model.access.source_ranges import operators_inside
from components.model.hosts.places import gateway_places, host_places, quarantined_ranges
from components.model.network.api_address import api_url
from components.model.network.mtu import TUNNEL_MSS, pod_mtu
from components.model.nodes.host_nodes import host_node_name
from components.model.secrets.certificates import NODES as NODE_AUTHORITY
from components.model.secrets.certificates import authorities
from contract.lifetimes import HOST_TOKEN_HOURS

GATEWAYS = "gateways"
NODES = "nodes"


@dataclass(frozen=True, kw_only=True)
class OnpremMachine:
    """A machine that Ansible sets up."""

    name: str
    """Host name, `<env>-<name in the file>`."""
    declared: str
    """Name in the environment's files."""
    group: str
    site: str
    address: IPv4Address
    """Address inside the site."""
    public_address: IPv4Address | None = None
    """Public address of a gateway; None for a host."""
    host_key: str | None
    pin_at: str
    """Key in the environment's files under which its host key belongs."""
    gpus: int = 0
    """Number of NVIDIA GPUs."""
    gpu_driver: str = "installed"
    """``installed`` by Longhaul, or ``provided`` by the host's own system."""
    rdma: str = ""
    """RDMA network, ``infiniband`` or ``roce``; empty without one."""
    gpu_switches: str = "auto"
    """Presence of NVSwitches: ``auto``, ``present`` or ``absent``."""

    @property
    def reached_at(self) -> IPv4Address:
        """Return the address for SSH from outside."""
        return self.public_address or self.address


@dataclass(frozen=True, kw_only=True)
class Reach:
    """SSH settings for all machines."""

    known_hosts: Path
    control_folder: Path
    """Folder for the sockets of open connections. It must be short: a socket's path may have 108 bytes (unix(7))."""
    user: str
    key: str | None
    """File of the private key; None to use the agent's and the user's own keys."""
    patient: bool = True
    """True to wait for a machine that is booting, or for a tunnel; otherwise the machine must answer now."""


def machines(
    environment: Environment, addresses: AddressPlan, *, and_quarantined: bool = False
) -> Iterator[OnpremMachine]:
    """Yield every gateway and bare-metal host, in the files' order. Hosts in quarantine are left out unless
    ``and_quarantined``: they are neither set up nor expected."""
    env = environment.name
    for gateway in gateway_places(environment, addresses):
        yield OnpremMachine(
            name=f"{env}-{gateway.name}",
            declared=gateway.name,
            group=GATEWAYS,
            site=gateway.site,
            address=gateway.address,
            public_address=gateway.public_address,
            host_key=gateway.host_key,
            pin_at=f"sites.{gateway.site}.gateways, {gateway.name}, in stacks/Pulumi.{env}.yaml",
        )
    hosts = {host.name: host for host in environment.hosts}
    for place in host_places(environment, addresses):
        if hosts[place.name].quarantined and not and_quarantined:
            continue
        yield OnpremMachine(
            name=host_node_name(environment, place.name),
            declared=place.name,
            group=NODES,
            site=place.site,
            address=place.address,
            host_key=hosts[place.name].host_key,
            pin_at=f"hosts, {place.name}, in stacks/{environment.bare_metal}",
            gpus=hosts[place.name].gpus,
            gpu_driver=hosts[place.name].gpu_driver,
            rdma=hosts[place.name].rdma or "",
            gpu_switches=hosts[place.name].gpu_switches,
        )


def has_hosts(environment: Environment) -> bool:
    """Return whether the environment has a machine that Ansible sets up."""
    return next(machines(environment, plan(environment)), None) is not None


def known_hosts(environment: Environment) -> str:
    """Return the pinned host keys in the format of ``known_hosts``, by machine name: an address may be reassigned to
    another machine."""
    listed = machines(environment, plan(environment), and_quarantined=True)
    return "".join(f"{machine.name} {machine.host_key}\n" for machine in listed if machine.host_key)


def inventory(environment: Environment, reach: Reach, *, more: Mapping[str, Any]) -> dict[str, Any]:
    """Return the whole inventory, with the additional variables ``more`` for all hosts."""
    addresses = plan(environment)
    groups: defaultdict[str, list[str]] = defaultdict(list)
    hosts: dict[str, dict[str, Any]] = {}
    for machine in machines(environment, addresses):
        groups[machine.group].append(machine.name)
        groups[site_group(machine.site)].append(machine.name)
        hosts[machine.name] = _host(machine, reach)
    sites = {
        site_group(name): _site(environment, addresses, name) for name in {host["site"] for host in hosts.values()}
    }
    return {
        "_meta": {"hostvars": hosts},
        "all": {
            "children": sorted({GATEWAYS, NODES, *groups}),
            "vars": {**_everywhere(environment, addresses), **_connection(reach), **more},
        },
        **{name: {"hosts": groups[name], "vars": sites.get(name, {})} for name in sorted({GATEWAYS, NODES, *groups})},
    }


def site_group(site: str) -> str:
    """Return the group's name for a site's machines. Ansible allows no hyphen in it."""
    return f"site_{site.replace('-', '_')}"


def _host(machine: OnpremMachine, reach: Reach) -> dict[str, Any]:
    variables: dict[str, Any] = {
        "ansible_host": str(machine.reached_at),
        "ansible_ssh_extra_args": _words(
            {"HostKeyAlias": machine.name, **({"IdentitiesOnly": "yes"} if reach.key else {})}
        ),
        "declared_name": machine.declared,
        "site": machine.site,
        "address": str(machine.address),
        "host_key": machine.host_key,
        "host_key_place": machine.pin_at,
    }
    if machine.gpus:
        variables |= {"gpus": machine.gpus, "gpu_driver": machine.gpu_driver}
        variables["nvidia_driver_switches"] = machine.gpu_switches
    if machine.rdma:
        variables["rdma"] = machine.rdma
    if machine.public_address is not None:
        variables["public_address"] = str(machine.public_address)
    return variables


def _site(environment: Environment, addresses: AddressPlan, name: str) -> dict[str, Any]:
    return {
        "depot": environment.sites[name].depot or "",
        "site_block": str(addresses.sites[name].block),
        "quarantined": [str(range_) for range_ in quarantined_ranges(environment, addresses, name)],
    }


def _everywhere(environment: Environment, addresses: AddressPlan) -> dict[str, Any]:
    (signer,) = (authority for authority in authorities(environment) if authority.name == NODE_AUTHORITY)
    return {
        "environment_name": environment.name,
        "versions": environment.versions.pinned(),
        "node_authority": signer.common_name,
        "host_token_hours": HOST_TOKEN_HOURS,
        "depot_key": environment.depots.key or "",
        "depot_authority": environment.depots.authority or "",
        "supernet": str(addresses.supernet),
        "api_url": api_url(environment, addresses),
        "operators": [str(range_) for range_ in environment.access.operators],
        "operators_inside": [str(range_) for range_ in operators_inside(environment, addresses)],
        "tunnel_mss": TUNNEL_MSS,
        "inside_mtu": pod_mtu(environment),
    }


ANSWER_S = 8
"""Time limit for a machine that must answer now, seconds: for TCP, the SSH protocol and its keys together
(ssh_config(5), ``ConnectTimeout``). So a host that is off is reported within ten seconds."""


def ssh_options(reach: Reach) -> dict[str, str]:
    """Return options of ``ssh`` that accept only pinned keys, and ignore the user's own list of keys."""
    return {
        "UserKnownHostsFile": f'"{reach.known_hosts}"',
        "GlobalKnownHostsFile": "/dev/null",
        "StrictHostKeyChecking": "yes",
        "CheckHostIP": "no",
        # For a machine that boots, or a tunnel that is being set up: attempts are a second apart while connections are
        # refused, and up to ten when nothing answers.
        "ConnectionAttempts": "8" if reach.patient else "1",
        **({} if reach.patient else {"ConnectTimeout": str(ANSWER_S)}),
        # An unplugged machine sends nothing: the connection ends after half a minute (ssh_config(5)), not after TCP's
        # quarter of an hour.
        "ServerAliveInterval": "10",
        "ServerAliveCountMax": "3",
        "UpdateHostKeys": "no",
    }


def _connection(reach: Reach) -> dict[str, Any]:
    """Return the variables of Ansible's ssh connection."""
    kept_open = {"ControlMaster": "auto", "ControlPersist": "60s", "Compression": "yes"}
    variables = {
        "ansible_connection": "ssh",
        "ansible_user": reach.user,
        "ansible_python_interpreter": "/usr/bin/python3",
        "ansible_ssh_common_args": _words(ssh_options(reach)),
        "ansible_ssh_args": _words(kept_open),
        "ansible_control_path_dir": str(reach.control_folder),
        "ansible_host_key_checking": True,
        "ansible_pipelining": True,
        # Keeps a command's error output apart from its standard output.
        "ansible_ssh_use_tty": False,
        # For a server that is still starting; permanent errors cost little time.
        "ansible_ssh_retries": 2,
    }
    if reach.key:
        variables["ansible_ssh_private_key_file"] = reach.key
    if not reach.patient:
        # Once a machine has answered, later connections may be retried.
        variables |= {"ansible_ssh_timeout": ANSWER_S, "preflight_ssh_retries": 0}
    return variables


def _words(options: Mapping[str, str]) -> str:
    return " ".join(word for name, value in options.items() for word in ("-o", shlex.quote(f"{name}={value}")))
