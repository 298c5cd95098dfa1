"""Cautions about a valid file: a named thing may not exist, or a setting has no effect."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime

from clouds.base.faults import Caution, Location
from clouds.base.phrases import word_list
from clouds.base.pool_section import Pool
from clouds.registry import cloud_of
from components.model.control_plane.learner import learner_cautions
from components.model.control_plane.section import MOST_SERVERS
from components.model.control_plane.size import NODES_PER_SERVER, declared_nodes, least_memory_gib, least_servers
from components.model.depots.checks import depot_cautions
from components.model.environment import Environment
from components.model.hosts.ssh_keys import pinned
from components.model.identity.namespace_checks import namespace_cautions
from components.model.network.cluster_dns import refuses_dns
from components.model.network.domain_checks import domain_cautions
from components.model.nodes.gpu_models import gpu_model_cautions, switch_cautions
from components.model.nodes.rdma import plugin_cautions
from components.model.policy.waiver_checks import ended
from components.model.pools.capacity_kinds import SPOT, pool_kinds
from components.model.pools.reservations import reservation_cautions
from components.model.sites.places import place_of
from components.model.teams.cautions import team_cautions
from components.model.versions.section import Versions, nearest_offered, offered_versions
from components.model.versions.section import pinned as tested
from contract.reasons.plan import FileReason

DEFAULT_NAMESPACE = "default"
"""Namespace of Kubernetes for objects that name none (kubernetes.io, "Namespaces", "Initial namespaces")."""
_NAMED = 3
"""Largest number of pools or machines that a caution names individually."""
_OF_KIND = ("machine_type", "spot")
"""Keys of a pool that determine its kind."""


def cautions(environment: Environment, *, today: date | None = None) -> Iterator[Caution]:
    """Yield the cautions about a checked environment, by section of the file. ``today`` defaults to the current date in
    UTC."""
    today = today or datetime.now(UTC).date()
    yield from _untested(environment)
    yield from domain_cautions(environment)
    for name, site in environment.sites.items():
        cloud = cloud_of(site)
        yield from cloud.limits.cautions(place_of(environment, name))
        if cloud.images.is_placeholder(site):
            yield Caution(
                reason=FileReason.PLACEHOLDER_IMAGE,
                at=("sites", name, "image"),
                site=name,
                wrong=f"{site.image} is the placeholder of an image that is still to be baked: no machine boots it",
                write="the id that `longhaul image build` prints",
                never_safe=True,
            )
    yield from depot_cautions(environment, today)
    yield from _exempt_default(environment)
    yield from _idle_keys(environment)
    yield from _never_empty(environment)
    yield from _fallbacks_of_other_kinds(environment)
    yield from _no_node(environment)
    yield from small_control_plane(environment)
    yield from learner_cautions(environment)
    yield from _lonely_vpn(environment)
    yield from _lonely_teams(environment)
    yield from team_cautions(environment)
    yield from namespace_cautions(environment)
    yield from reservation_cautions(environment, today)
    yield from gpu_model_cautions(environment)
    yield from switch_cautions(environment)
    yield from plugin_cautions(environment)
    yield from _guaranteed_spot(environment)
    yield from _missing_keys(environment)
    yield from _shared_keys(environment)
    yield from ended(environment, today)


def _untested(environment: Environment) -> Iterator[Caution]:
    """Yield a caution for each version that this release does not pin, or was not tested with."""
    for release in Versions.model_fields:
        wanted = getattr(environment.versions, release)
        if wanted not in offered_versions(release):
            yield Caution(
                reason=FileReason.VERSION_UNPINNED,
                about=release,
                at=("versions", release),
                wrong=f"this release pins no {release} {wanted}, so it bakes no image with it",
                write=nearest_offered(release, wanted),
            )
        elif wanted != tested(release):
            yield Caution(
                reason=FileReason.VERSION_UNTESTED,
                about=release,
                at=("versions", release),
                wrong=f"{wanted} is not the version that this release was tested with, {tested(release)}",
                write="leave it out, or try it in another environment first",
            )


def _no_node(environment: Environment) -> Iterator[Caution]:
    """Yield a caution if DNS servers find no node: no pool starts with a machine and there is no host, or each pool has
    a taint that they do not tolerate."""
    pools = environment.pools
    if pools and not environment.hosts and all(refuses_dns(pool) for pool in pools.values()):
        yield Caution(
            reason=FileReason.ALL_TAINTED,
            at=("pools",),
            wrong="every pool has a taint of its own, which CoreDNS does not tolerate: no name is resolved in pods",
            write="a pool without taints, of a type without GPUs",
        )
        return
    if environment.scales:
        return  # With an autoscaler that acts this is an error (check_base).
    if pools and not environment.hosts and not any(pool.min for pool in pools.values()):
        yield Caution(
            reason=FileReason.NO_NODE,
            at=("pools",),
            wrong="no pool has a `min`, and there is no host: nothing runs CoreDNS until somebody scales a pool",
            write="`min: 1` at a pool without GPUs",
        )


def _exempt_default(environment: Environment) -> Iterator[Caution]:
    """Yield a caution if pods may be root on their nodes in the namespace of all objects that name none."""
    if DEFAULT_NAMESPACE in environment.pod_security.exempt_namespaces:
        index = environment.pod_security.exempt_namespaces.index(DEFAULT_NAMESPACE)
        yield Caution(
            reason=FileReason.EXEMPT_DEFAULT,
            at=("pod_security", "exempt_namespaces", index),
            wrong="what names no namespace is made in `default`: each pod that a chart or a command of an "
            "administrator makes there by mistake may be root on its node, and waits in no queue",
            write="a namespace of its own for what needs more rights, such as `monitoring`",
        )


def _lonely_vpn(environment: Environment) -> Iterator[Caution]:
    """Yield a caution if there is a VPN, but no group whose people may connect."""
    groups = environment.identity.groups.values()
    if environment.vpn is not None and not any(group.vpn or group.everywhere == "cluster-admin" for group in groups):
        yield Caution(
            reason=FileReason.LONELY_VPN,
            at=("vpn",),
            basis=(("identity", "issuers"), ("identity", "groups")),
            wrong="nobody can sign in to it: only operators get in, by `longhaul vpn --env`",
            write="`identity` with an issuer, and `vpn: true` at the groups that may connect (docs/vpn.md)",
        )


def _lonely_teams(environment: Environment) -> Iterator[Caution]:
    """Yield a caution if there are teams, but nobody can sign in."""
    if environment.teams and not environment.identity.issuers:
        yield Caution(
            reason=FileReason.LONELY_TEAMS,
            at=("teams",),
            basis=(("identity", "issuers"),),
            wrong="nobody can sign in as a member of a team: only administrators' certificates open the cluster",
            write="`identity` with an issuer that names the groups (docs/sign-in.md)",
        )


def small_control_plane(environment: Environment) -> Iterator[Caution]:
    """Yield cautions if the API servers are too small or too few for the declared nodes."""
    nodes, api = declared_nodes(environment), environment.control_plane.api
    basis: tuple[Location, ...] = (("pools",), ("hosts",), ("bare_metal",), ("max_nodes",))
    known = environment.known_types.get(api.machine_type)
    least = least_memory_gib(nodes)
    if known is not None and known.memory_gib < least:
        yield Caution(
            reason=FileReason.SMALL_API_SERVER,
            at=("control_plane", "api", "machine_type"),
            basis=(*basis, ("machine_types",)),
            wrong=f"{api.machine_type} has {known.memory_gib:,} GiB of memory, and an API server for {nodes:,} nodes "
            f"needs {least:,}",
            write=f"a type with {least:,} GiB or more; or a smaller `max` of pools (docs/sizing.md)",
        )
    servers = least_servers(nodes)
    if api.servers < servers:
        yield Caution(
            reason=FileReason.FEW_API_SERVERS,
            at=("control_plane", "api", "servers"),
            basis=basis,
            wrong=f"{api.servers} are few for {nodes:,} nodes: about one for each {NODES_PER_SERVER:,}",
            write=f"{servers}, and one more to survive the loss of one"
            if servers < MOST_SERVERS
            else f"several environments: one has at most {MOST_SERVERS} API servers (docs/limits.md)",
        )


def _idle_keys(environment: Environment) -> Iterator[Caution]:
    """Without an autoscaler, yield a caution for each key of pools that only an autoscaler reads."""
    if environment.autoscaler is not None:
        return
    for key in ("priority", "fallbacks", "spare"):
        default = Pool.model_fields[key].default
        pools = [name for name, pool in environment.pools.items() if getattr(pool, key) != default]
        if pools:
            yield Caution(
                reason=FileReason.NO_EFFECT,
                about=key,
                at=("pools", pools[0], key),
                basis=(("autoscaler",),),
                wrong=f"it has no effect without an autoscaler, in {_few(pools)}: each pool is filled by itself",
                write="`autoscaler: {}`",
            )


def _never_empty(environment: Environment) -> Iterator[Caution]:
    """Yield a caution for each pool whose machines are all kept spare."""
    for name, pool in environment.pools.items():
        if environment.autoscaler is not None and pool.spare == pool.max:
            yield Caution(
                reason=FileReason.SPARE_IS_ALL,
                at=("pools", name, "spare"),
                pool=name,
                basis=(("pools", name, "max"),),
                wrong=f"{pool.spare:,} is the pool's `max`: the whole pool always runs",
                write="fewer than its `max`, or `min` if all are meant to run",
            )


def _fallbacks_of_other_kinds(environment: Environment) -> Iterator[Caution]:
    """Yield a caution for each fallback of another kind, to which teams' work cannot move."""
    kinds_of = pool_kinds(environment) if environment.teams else {}
    for name, pool in environment.pools.items():
        kind = kinds_of.get(name)
        for index, fallback in enumerate(pool.fallbacks):
            other = kinds_of.get(fallback)
            if kind and other and kind != other:
                yield Caution(
                    reason=FileReason.FALLBACK_DIFFERS,
                    about=fallback,
                    at=("pools", name, "fallbacks", index),
                    pool=name,
                    basis=(
                        ("teams",),
                        *(("pools", pool_name, key) for pool_name in (name, fallback) for key in _OF_KIND),
                    ),
                    wrong=f"{fallback} is of the kind {other} and {name} of {kind}: "
                    "work of teams stays within its kind",
                    write="a pool of the same kind, or leave it out",
                )


def _guaranteed_spot(environment: Environment) -> Iterator[Caution]:
    """Yield a caution for each guarantee of machines that a cloud may take back."""
    for name, team in environment.teams.items():
        for kind, share in team.shares.items():
            if kind.endswith(SPOT) and (share.gpus or share.cores):
                yield Caution(
                    reason=FileReason.SPOT_GUARANTEED,
                    about=f"{name} {kind}",
                    at=("teams", name, "shares", kind, "gpus" if share.gpus else "cores"),
                    wrong="the cloud may take these machines back, so they cannot be guaranteed",
                    write="leave it out: a team borrows free capacity",
                )


def _missing_keys(environment: Environment) -> Iterator[Caution]:
    """Yield one caution for all gateways, and one for all hosts, without a pinned key."""
    missing = [at for at, key in pinned(environment) if key is None]
    for kind in ("sites", "hosts"):
        places = [at for at in missing if at[0] == kind]
        if places:
            names = [_name(environment, at) for at in places]
            yield Caution(
                reason=FileReason.HOST_KEY_UNPINNED,
                about=kind,
                at=places[0],
                wrong=f"is missing for {_few(names)}: without it Ansible does not connect",
                write="what `ssh-keyscan` prints of each machine, compared with what its console shows",
            )


def _shared_keys(environment: Environment) -> Iterator[Caution]:
    """Yield a caution for each key that several machines have: as a rule they were cloned, or one key was copied."""
    holders: defaultdict[str, list[Location]] = defaultdict(list)
    for at, key in pinned(environment):
        if key is not None:
            holders[key].append(at)
    for first, *others in holders.values():
        if others:
            names = [_name(environment, at) for at in (first, *others)]
            yield Caution(
                reason=FileReason.HOST_KEY_SHARED,
                about=names[0],
                at=others[0],
                wrong=f"is the same key for {_few(names)}: whoever controls one of these machines can pose as "
                "the others",
                write="each machine's own: `longhaul hosts scan-keys`, after `ssh-keygen -A` on a cloned one",
            )


def _few(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return word_list([*names[:_NAMED], f"{more} more"] if more > 1 else names)


def _name(environment: Environment, at: tuple[str | int, ...]) -> str:
    if at[0] == "hosts":
        return environment.hosts[int(at[1])].name
    return environment.sites[str(at[1])].gateways[int(at[3])].name
