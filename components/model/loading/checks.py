"""Checks across the environment's sections. Each yields its faults; none stops the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from clouds.base.faults import Fault
from components.model.access.checks import check_access, check_boundary, check_identity, check_operators_inside
from components.model.backups.checks import check_backups
from components.model.control_plane.checks import check_api_port, check_control_plane
from components.model.control_plane.learner import check_learner
from components.model.depots.checks import check_depots
from components.model.environment import Environment
from components.model.hosts.checks import check_hosts
from components.model.hosts.ssh_keys import check_host_keys
from components.model.identity.namespace_checks import check_namespaces
from components.model.identity.sign_in import check_sign_in
from components.model.network.capacity import check_capacity, check_peered, check_total
from components.model.network.domain_checks import check_domain, check_private_zones
from components.model.network.link_checks import check_links
from components.model.network.plan_checks import check_plan, check_used
from components.model.network.public_addresses import check_operators, check_public_addresses, check_vpn_sources
from components.model.network.throughput_checks import check_throughput
from components.model.nodes.gpu_models import check_gpu_models
from components.model.nodes.gpu_promises import check_gpus
from components.model.policy.waiver_checks import check_waivers
from components.model.pools.checks import check_base, check_fabric, check_fallbacks, check_pools, check_purchase
from components.model.pools.machine_type_checks import check_machine_types, check_units
from components.model.sites.checks import check_blocks, check_zones
from components.model.sites.existing import check_existing
from components.model.sites.machine_names import check_names
from components.model.sites.name_lengths import check_lengths
from components.model.sites.tag_checks import check_tags
from components.model.teams.checks import check_teams
from contract.project import OBJECTS


def check(environment: Environment, *, stack: str) -> Iterator[Fault]:
    """Yield every fault of an environment whose fields are each valid."""
    if environment.name != stack:
        wrong = f"{environment.name!r} is not the name of its stack, {stack!r}"
        yield Fault(at=("name",), wrong=wrong, write=stack)
    if environment.name.endswith(OBJECTS):
        wrong = f"{environment.name!r} ends with {OBJECTS!r}, as the stack of what runs on a cluster does"
        yield Fault(at=("name",), wrong=wrong, write=environment.name.removesuffix(OBJECTS))
    checks: tuple[Callable[[Environment], Iterator[Fault]], ...] = (
        check_control_plane,
        check_api_port,
        check_domain,
        check_private_zones,
        check_pools,
        check_purchase,
        check_fabric,
        check_fallbacks,
        check_base,
        check_machine_types,
        check_units,
        check_hosts,
        check_access,
        check_gpus,
        check_gpu_models,
        check_names,
        check_links,
        check_throughput,
        check_identity,
        check_boundary,
        check_sign_in,
        check_teams,
        check_namespaces,
        check_existing,
        check_lengths,
        check_tags,
        check_public_addresses,
        check_operators,
        check_operators_inside,
        check_vpn_sources,
        check_zones,
        check_blocks,
        check_backups,
        check_depots,
        check_learner,
        check_waivers,
        check_host_keys,
        check_plan,
        check_used,
        check_capacity,
        check_peered,
        check_total,
    )
    for rule in checks:
        yield from rule(environment)
