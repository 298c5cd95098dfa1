"""The node controller's document of the environment: its sites, pools and racks. The objects stack makes a ConfigMap of
it; images/rootfs, controller/environment.py, reads it and reports its faults."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from clouds.registry import cloud_of
from components.model import AddressPlan, Environment
from components.model.nodes.nodes import HostNode, host_labels, host_nodes, pool_labels, pool_taints
from components.model.sites.cloud_names import pool_groups
from components.model.sites.places import place_of
from components.model.sites.section import Site
from contract.labels import ZONE_LABEL

if TYPE_CHECKING:
    from clouds.registry import AnyCloud

FORMAT = 1
"""Version of the document's format. It is raised when an older controller would misread the document; a controller
ignores what it does not know."""

CONFIGMAP = "longhaul-environment"
KEY = "environment.json"


def environment_document(environment: Environment, addresses: AddressPlan, *, aws_role_arn: str | None) -> str:
    """Return the document as JSON; raise ``ValueError`` when the controller needs a role to list machines of pools (in
    AWS), and there is none.

    Each host is one short line: a ConfigMap holds 1 MiB (kubernetes.io, "ConfigMaps"), and 8,192 hosts take three
    quarters of that. So a host names its labels by their place in ``rack_labels``, where each set of labels is once.
    """
    by_role = pools_by_role(environment)
    if by_role and not aws_role_arn:
        titles = " and ".join(dict.fromkeys(cloud.title for cloud in by_role.values()))
        raise ValueError(
            f"pools {', '.join(by_role)} are in {titles}, and the stack has no output node_controller_role yet"
        )
    hosts = host_nodes(environment, addresses)
    labels = _host_labels(environment, hosts)
    sets = list(_distinct(labels.values()))
    value = {
        "format": FORMAT,
        "environment": environment.name,
        "aws_role": aws_role_arn,
        "sites": {name: _site(environment, name, site) for name, site in environment.sites.items()},
        "pools": {name: _pool(environment, name) for name in environment.pools},
        "rack_labels": {str(index): label_set for index, label_set in enumerate(sets)},
        "racks": {
            host.node_name: {
                "site": host.place.site,
                "address": str(host.place.address),
                "pods": str(host.place.pods),
                "labels": sets.index(labels[name]),
            }
            for name, host in hosts.items()
        },
    }
    return _text(value)


def pools_by_role(environment: Environment) -> dict[str, AnyCloud]:
    """Return the pools whose machines the controller lists with a role, each with its cloud."""
    clouds = {name: cloud_of(environment.sites[pool.site]) for name, pool in environment.pools.items()}
    return {name: cloud for name, cloud in clouds.items() if cloud.node_controller_takes_role}


def _pool(environment: Environment, name: str) -> dict[str, Any]:
    first, *more = [group.name for group in pool_groups(environment, name)]
    taints = [taint.model_dump() for taint in pool_taints(environment, name)]
    return {
        "site": environment.pools[name].site,
        "group": first,
        **({"more_groups": more} if more else {}),
        "labels": pool_labels(environment, name),
        **({"taints": taints} if taints else {}),
    }


def _host_labels(environment: Environment, hosts: Mapping[str, HostNode]) -> dict[str, dict[str, str]]:
    """Return the labels of every host by its name in the hosts file."""
    return {
        host.name: {
            **host_labels(hosts[host.name].place, gpus=host.gpus, gpu_model=host.gpu_model, rdma=host.rdma),
            ZONE_LABEL: hosts[host.name].place.site,
        }
        for host in environment.hosts
    }


def _distinct(labels: Iterable[dict[str, str]]) -> Iterable[dict[str, str]]:
    """Return each set of labels once, in the order of the first that has it."""
    return {tuple(label.items()): label for label in labels}.values()


def _site(environment: Environment, name: str, site: Site) -> dict[str, str]:
    return {"kind": site.kind, **cloud_of(site).node_controller_settings(place_of(environment, name))}


def _text(value: Mapping[str, Any]) -> str:
    """Return JSON with a line for each entry."""
    parts = [f"{_line(key)}: {_lines(part)}" for key, part in value.items()]
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _lines(part: Any) -> str:
    if not isinstance(part, dict) or not part:
        return _line(part)
    return "{\n" + ",\n".join(f" {_line(key)}: {_line(inside)}" for key, inside in part.items()) + "\n}"


def _line(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))
