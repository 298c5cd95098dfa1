"""The node controller's document of the environment: its sites, pools and racks. The objects stack makes a ConfigMap of
it; the node controller reads it and reports its faults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from clouds.registry import cloud_of
from components.model import AddressPlan, Environment
from components.model.nodes.host_nodes import HostNode, host_nodes
from components.model.nodes.labels import host_labels
from components.model.pools.declared import declared_pools
from components.model.sites.places import place_of
from components.model.sites.section import Site
from contract.documents.node_controller import NodeEnvironment, NodeHost, NodeSite, to_text
from contract.labels import ZONE_LABEL

if TYPE_CHECKING:
    from clouds.registry import AnyCloud


def environment_document(environment: Environment, addresses: AddressPlan, *, aws_role_arn: str | None) -> str:
    """Return the node controller's document; raise ``ValueError`` when the controller needs a role to list machines of
    pools (in AWS), and there is none."""
    by_role = pools_by_role(environment)
    if by_role and not aws_role_arn:
        titles = " and ".join(dict.fromkeys(cloud.title for cloud in by_role.values()))
        raise ValueError(
            f"pools {', '.join(by_role)} are in {titles}, and the stack has no output node_controller_role yet"
        )
    return to_text(
        NodeEnvironment(
            name=environment.name,
            aws_role=aws_role_arn or "",
            sites={name: _site(environment, name, site) for name, site in environment.sites.items()},
            pools={pool.name: pool for pool in declared_pools(environment)},
            hosts=_hosts(environment, host_nodes(environment, addresses)),
        )
    )


def pools_by_role(environment: Environment) -> dict[str, AnyCloud]:
    """Return the pools whose machines the controller lists with a role, each with its cloud."""
    clouds = {name: cloud_of(environment.sites[pool.site]) for name, pool in environment.pools.items()}
    return {name: cloud for name, cloud in clouds.items() if cloud.node_controller_takes_role}


def _site(environment: Environment, name: str, site: Site) -> NodeSite:
    settings = cloud_of(site).node_controller_settings(place_of(environment, name))
    return NodeSite(name=name, kind=site.kind, **settings)


def _hosts(environment: Environment, nodes: Mapping[str, HostNode]) -> dict[str, NodeHost]:
    """Return every host by the name of its Node."""
    declared = {host.name: host for host in environment.hosts}
    return {
        node.node_name: NodeHost(
            name=node.node_name,
            site=node.place.site,
            address=str(node.place.address),
            pods=str(node.place.pods),
            labels={
                **host_labels(
                    node.place,
                    gpus=declared[name].gpus,
                    gpu_model=declared[name].gpu_model,
                    rdma=declared[name].rdma,
                ),
                ZONE_LABEL: node.place.site,
            },
        )
        for name, node in nodes.items()
    }
