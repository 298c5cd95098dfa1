"""Pools as declared, with the state of their groups as the clouds report it, and shared limits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

from clouds.base.live_groups import Life
from clouds.base.machine_types import Rdma
from clouds.base.prices import MachineKey
from clouds.base.refusals import Cause, Refusal
from clouds.registry import cloud_of
from components.model import plan
from components.model.autoscaler.section import Autoscaler
from components.model.nodes.host_nodes import HOSTS
from components.model.nodes.kubelet_reservations import MAX_PODS, SYSTEM_MIB, kube_reserved
from components.model.nodes.rdma import EFA_RESOURCE, SHARED, huge_pages_2mib, pool_rdma, shared_resource
from components.model.pools.declared import declared_pools
from components.model.sites.places import site_ranges
from contract.kubernetes.api import moment
from contract.kubernetes.quantities import whole
from contract.labels import GROUP_LABEL, HOSTS_POOL_LABEL, ZONE_LABEL
from contract.reasons.autoscaler import Obstacle, WaitReason
from contract.resources import GPU_RESOURCE
from services.autoscaler.group_reader import GroupAnswer
from services.autoscaler.node_objects import MachineFacts
from services.autoscaler.settings import AutoscalerSettings
from services.autoscaler.shapes import PODS, Resources
from services.autoscaler.snapshot import (
    ClusterNode,
    Failure,
    LabelPairs,
    ScalingGroup,
    ScalingPool,
    SharedLimit,
    UnjoinedMachine,
)

if TYPE_CHECKING:
    from components.model import Environment
    from components.model.prices.book import PriceBook

GIB, MIB = 2**30, 2**20
SEEN_SHARE = Decimal("0.925")
"""Share of a machine type's memory that its operating system has; the rest is the firmware's and the hypervisor's.
Karpenter assumes the same (karpenter.sh, "Settings", ``VM_MEMORY_OVERHEAD_PERCENT``: 7.5 %) until a node reports more
precisely."""
KEPT_MIB = SYSTEM_MIB + 100
"""Memory that a kubelet reserves for the system and withholds from pods, MiB: ``systemReserved``
(components/render/node_files.py) and ``evictionHard`` (images/rootfs, kubelet.conf.d/05-disk.conf)."""


def machines(asked: Mapping[str, Sequence[GroupAnswer]]) -> dict[str, MachineFacts]:
    """Return the groups' facts about machines, by node name."""
    return {
        machine.node: MachineFacts(
            group=group.declared.name,
            machine=machine.id,
            keep=machine.keep_reason,
            leaving=machine.life is Life.LEAVING,
            counted=machine.counted,
        )
        for groups in asked.values()
        for group in groups
        if group.group
        for machine in group.group.machines
    }


def pools(
    environment: Environment,
    asked: Mapping[str, Sequence[GroupAnswer]],
    nodes: Sequence[ClusterNode],
    *,
    prices: PriceBook,
    closed: Mapping[str, Obstacle],
) -> tuple[ScalingPool, ...]:
    """Return every pool, and the hosts as one. ``closed`` has the reasons why somebody else controls pools' sizes at
    the moment."""
    amounts = _prices(environment, prices)
    names = {node.name for node in nodes}
    labelled = _labelled(asked, nodes)
    known = {pool.name: pool for pool in declared_pools(environment)}
    settings = environment.autoscaler or Autoscaler()
    scaled = [
        ScalingPool(
            name=name,
            site=declared.site,
            region=environment.sites[declared.site].region,
            groups=tuple(_group(group, names, labelled=group.declared.name in labelled) for group in asked[name]),
            labels=tuple(sorted({**known[name].labels, **_zone(environment, name, nodes)}.items())),
            taints=tuple((taint.key, taint.value, taint.effect) for taint in known[name].taints),
            capacity=capacity(environment, name),
            machine_type=declared.machine_type,
            min=declared.min,
            max=declared.max,
            spare=declared.spare,
            priority=declared.priority,
            fallbacks=declared.fallbacks,
            price=amounts.get(name),
            spot=declared.spot,
            reserved=declared.reservation is not None,
            closed=closed.get(name),
            join=timedelta(minutes=declared.join_minutes or settings.join_minutes),
            idle=timedelta(minutes=declared.idle_minutes or settings.idle_minutes),
        )
        for name, declared in environment.pools.items()
    ]
    if environment.hosts:
        scaled.append(ScalingPool(name=HOSTS, site="", racks=True))
    return tuple(scaled)


def _group(asked: GroupAnswer, nodes: set[str], *, labelled: bool) -> ScalingGroup:
    declared = asked.declared
    labels: LabelPairs = ((GROUP_LABEL, declared.name),) if labelled else ()
    if asked.group is None:
        return ScalingGroup(
            name=declared.name,
            wanted=0,
            machines=0,
            max=declared.max,
            min=declared.min,
            labels=labels,
            error=asked.error or "nothing was heard of it",
        )
    made = asked.made or {}
    there = [machine for machine in asked.group.machines if machine.life is not Life.LEAVING]
    refused = {refusal.machine for refusal in asked.refusals if refusal.machine} & {refusal.id for refusal in there}
    staying = [machine for machine in there if machine.counted and machine.id not in refused]
    return ScalingGroup(
        name=declared.name,
        wanted=asked.group.wanted,
        machines=len(staying),
        max=declared.max,
        min=declared.min,
        leaving=len(asked.group.machines) - len(there),
        unjoined=tuple(
            UnjoinedMachine(id=machine.id, made_at=moment(made.get(machine.id, "")))
            for machine in staying
            if machine.node not in nodes
        ),
        refused=tuple(sorted(refused)),
        failures=tuple(Failure(at=refusal.at, obstacle=_obstacle(refusal)) for refusal in asked.refusals),
        labels=labels,
        error=asked.error,
    )


REASONS = {
    Cause.CAPACITY: WaitReason.OUT_OF_CAPACITY,
    Cause.QUOTA: WaitReason.QUOTA_EXCEEDED,
    Cause.SPOT: WaitReason.SPOT_UNAVAILABLE,
    Cause.OTHER: WaitReason.REFUSED,
}
"""Reasons for which pods wait, by the cause of a refusal."""


def _obstacle(refusal: Refusal) -> Obstacle:
    """Return the cause and the first sentence of the cloud's message: the rest is advice."""
    message = f"refused ({refusal.cause}): {refusal.words.partition('. ')[0].rstrip('.')}"
    return Obstacle(REASONS[refusal.cause], message)


def _labelled(asked: Mapping[str, Sequence[GroupAnswer]], nodes: Sequence[ClusterNode]) -> set[str]:
    """Return the groups whose nodes have a label with the group's name: those of pools with several groups, and those
    found in such a label of a node."""
    several = {group.declared.name for groups in asked.values() if len(groups) > 1 for group in groups}
    return several | {value for node in nodes for key, value in node.kind.labels if key == GROUP_LABEL}


def _zone(environment: Environment, name: str, nodes: Sequence[ClusterNode]) -> dict[str, str]:
    """Return the zone label of a pool's next node, when only one zone is possible and an existing node shows its name.
    A group that spreads over zones chooses the zone itself."""
    pool = environment.pools[name]
    zones = pool.zones or environment.sites[pool.site].zones
    observed_zones = {
        value for node in nodes if node.pool == name for key, value in node.kind.labels if key == ZONE_LABEL
    }
    return {ZONE_LABEL: observed_zones.pop()} if len(zones) == 1 and len(observed_zones) == 1 else {}


def capacity(environment: Environment, name: str) -> Resources:
    """Return the amounts that a new node of a pool has for pods, by its declared machine type. Local storage is
    declared only by ``system_disk_gib``."""
    pool = environment.pools[name]
    machine = environment.machine_type(pool.machine_type)
    reserved = {key: whole(key, text) for key, text in kube_reserved(machine.vcpus).items()}
    small = huge_pages_2mib(environment, name) * 2 * MIB
    huge = pool.huge_pages_gib * GIB
    memory = int(machine.memory_gib * GIB * SEEN_SHARE) - reserved["memory"] - KEPT_MIB * MIB - huge - small
    cores = machine.vcpus * 1000 - reserved["cpu"]
    # Zero GPUs are declared, too: a node that claims some is not believed.
    amounts = {PODS: MAX_PODS, "cpu": cores, "memory": memory, GPU_RESOURCE: machine.gpus}
    amounts |= {key: amount for key, amount in {"hugepages-1Gi": huge, "hugepages-2Mi": small}.items() if amount}
    if pool.system_disk_gib:
        # The file system takes some of it; the kubelet reserves 1 GiB for itself and keeps 5 GiB free.
        amounts["ephemeral-storage"] = int(pool.system_disk_gib * GIB * 0.9) - 6 * GIB
    return amounts | _adapters(environment, name)


def _adapters(environment: Environment, name: str) -> Resources:
    rdma = pool_rdma(environment, name)
    if rdma is Rdma.EFA and environment.images.efa_device_plugin:
        return {EFA_RESOURCE: environment.machine_type(environment.pools[name].machine_type).efa_cards}
    return {shared_resource(rdma): MAX_PODS} if rdma in SHARED else {}


def _prices(environment: Environment, book: PriceBook) -> dict[str, Decimal]:
    """Return the hourly price of each pool's machines; empty when the prices have several currencies, which cannot be
    compared."""
    by_pool = {}
    for name, pool in environment.pools.items():
        site = environment.sites[pool.site]
        key = MachineKey(cloud=site.kind, region=site.region, machine_type=pool.machine_type, spot=pool.spot)
        price, _ = book.applied(key)
        if price is not None:
            by_pool[name] = price
    if len({price.currency for price in by_pool.values()}) > 1:
        return {}
    return {name: price.hourly for name, price in by_pool.items()}


def limits(
    environment: Environment, known: Sequence[ScalingPool], nodes: Sequence[ClusterNode], *, sizes: Mapping[str, int]
) -> Iterator[SharedLimit]:
    """Yield shared limits: ``max_nodes``, and the addresses of sites and zones. For a pool whose cloud does not answer,
    the larger of its nodes and its groups' remembered ``sizes`` counts."""
    hosts, there = len(environment.hosts), Counter(node.pool for node in nodes)
    present = {pool.name: _present(pool, there[pool.name], sizes) for pool in known}
    if environment.max_nodes is not None:
        left = environment.max_nodes - hosts - sum(present.values())
        yield SharedLimit(
            name=f"max_nodes, {environment.max_nodes:,},",
            reason=WaitReason.MAX_NODES,
            left=left,
            each=_each(environment.pools),
        )
    addresses, used_up = plan(environment), WaitReason.ADDRESSES_USED_UP
    for site, declared in environment.sites.items():
        of_site = {name: pool for name, pool in environment.pools.items() if pool.site == site}
        rooms = cloud_of(declared).limits.rooms(declared, site_ranges(addresses, site)) if of_site else ()
        for room in rooms:
            confined = [name for name, pool in of_site.items() if pool.zones and {*pool.zones} <= {*room.zones}]
            left = room.nodes - sum(present[name] for name in confined)
            yield SharedLimit(
                name=f"what has addresses in {room.range}", reason=used_up, left=left, each=_each(confined)
            )
        if rooms:
            left = sum(room.nodes for room in rooms) - sum(present[name] for name in of_site)
            yield SharedLimit(name=f"what has addresses in {site}", reason=used_up, left=left, each=_each(of_site))


def _present(pool: ScalingPool, nodes: int, sizes: Mapping[str, int]) -> int:
    """Return the number of machines that a pool has or is asked for."""
    wanted = sum(max(group.wanted - len(group.refused), group.machines) for group in pool.groups)
    if not any(group.error for group in pool.groups):
        return wanted
    return max(wanted, nodes, sum(sizes.get(group.name, 0) for group in pool.groups))


def numbers(environment: Environment) -> AutoscalerSettings:
    """Return the environment's autoscaler settings that apply to all pools."""
    settings = environment.autoscaler or Autoscaler()
    return AutoscalerSettings(share=settings.leaving_percent / 100, joining=settings.joining)


def _each(names: Sequence[str] | Mapping[str, object]) -> tuple[tuple[str, int], ...]:
    return tuple((name, 1) for name in names)


def taints(environment: Environment) -> dict[str, frozenset[tuple[str, str]]]:
    """Return key and effect of the taints that a pool's nodes always have, by its name on nodes."""
    by_pool = {
        name: frozenset((taint.key, taint.effect) for taint in pool.taints) for name, pool in environment.pools.items()
    }
    return {**by_pool, HOSTS_POOL_LABEL: frozenset()}
