"""Checks of the section ``teams``: names, people, and guarantees within the declared capacity. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from clouds.base.faults import Fault, Location
from clouds.base.phrases import suggestion
from components.model.environment import Environment
from components.model.identity.sign_in import prefix_fault
from components.model.nodes.rdma import EFA_RESOURCE, SHARED, shared_resource
from components.model.pools.capacity_kinds import CapacityKind, kinds, pool_kinds
from components.model.teams.queues import NAMESPACE, has_queues
from components.model.teams.section import Share, Team
from contract.resources import GPU_RESOURCE

TOLERATIONS = 8
"""Largest number of tolerations of a flavor (kueue.x-k8s.io/v1beta2, ``ResourceFlavorSpec``)."""
KNOWN_RESOURCES = (GPU_RESOURCE, EFA_RESOURCE, *map(shared_resource, SHARED))
"""Resources of device plugins that teams' queues know without the file."""
DIVIDED = (f"{GPU_RESOURCE}.", "nvidia.com/mig-")
"""Prefixes of the resources that NVIDIA's device plugin offers of divided GPUs (k8s-device-plugin, "Shared Access to
GPUs", "MIG strategy"); here it offers none of them."""
OURS = ("default", NAMESPACE)
"""Namespaces whose names no team may have, in addition to Kubernetes' own (``kube-…``)."""


def check_teams(environment: Environment) -> Iterator[Fault]:
    """Yield every fault of the teams, and of the resources that their jobs may request."""
    yield from _check_resources(environment)
    if not environment.teams:
        return
    known = kinds(environment)
    if not has_queues(environment):
        basis: tuple[Location, ...] = (("teams",),)
        yield Fault(at=("queues",), wrong="teams have queues", write="true, or leave it out", basis=basis)
    for name, team in environment.teams.items():
        yield from _check_name(environment, name)
        yield from _check_people(environment, name, team)
        for kind, share in team.shares.items() if _types_fit(environment) else ():
            at = ("teams", name, "shares", kind)
            if kind in known:
                yield from _check_share(at, share, known[kind], basis=_machines(environment))
            else:
                yield _no_kind(environment, at, known)
    for capacity in known.values():
        yield from _check_total(environment, capacity)
        yield from _check_taints(environment, capacity)


def _check_resources(environment: Environment) -> Iterator[Fault]:
    resources = environment.extended_resources
    for index, resource in enumerate(resources):
        if resource.startswith(DIVIDED):
            wrong = f"{resource} is a part of a GPU, and pods get whole ones (docs/limits.md)"
        elif resource in resources[:index]:
            wrong = f"{resource} is named before"
        elif environment.teams and resource in KNOWN_RESOURCES:
            wrong = f"queues know {resource} already"
        else:
            continue
        yield Fault(at=("extended_resources", index), wrong=wrong, write="leave it out")


def _types_fit(environment: Environment) -> bool:
    """Return false when a pool's machine type is itself a fault: nothing can then be concluded about its kind."""
    types, sites = environment.known_types, environment.sites
    return all(
        pool.site not in sites
        or (pool.machine_type in types and types[pool.machine_type].cloud == sites[pool.site].kind)
        for pool in environment.pools.values()
    )


def _check_name(environment: Environment, name: str) -> Iterator[Fault]:
    if name in OURS or name.startswith("kube-"):
        yield Fault(at=("teams", name), wrong=f"{name} is a namespace of the cluster's own", write="another name")
    elif name in environment.pod_security.exempt_namespaces:
        wrong = f"Pod Security does not hold in the namespace {name}: whoever may make pods there controls every node"
        basis: tuple[Location, ...] = (("pod_security", "exempt_namespaces"),)
        yield Fault(at=("teams", name), wrong=wrong, write="another name", basis=basis)


def _check_people(environment: Environment, name: str, team: Team) -> Iterator[Fault]:
    for index, group in enumerate(team.groups):
        at = ("teams", name, "groups", index)
        if group in team.groups[:index]:
            yield Fault(at=at, wrong=f"{group!r} is named before", write="each group once")
        elif environment.identity.issuers:
            yield from prefix_fault(environment, group, at)
    for other, earlier in environment.teams.items():
        if other == name:
            return
        if {*team.groups} == {*earlier.groups}:
            wrong = f"the team {other} has the same people"
            basis: tuple[Location, ...] = (("teams", other, "groups"),)
            yield Fault(at=("teams", name, "groups"), wrong=wrong, write="one team, or other groups", basis=basis)


def _machines(environment: Environment) -> tuple[Location, ...]:
    """Return the places in the file from which kinds follow."""
    pools = (("pools", name, key) for name in environment.pools for key in ("machine_type", "spot", "max"))
    types = (
        ("machine_types", name, key) for name in environment.machine_types for key in ("gpus", "gpu_model", "vcpus")
    )
    hosts = (("hosts", index, key) for index in range(len(environment.hosts)) for key in ("gpus", "gpu_model"))
    return (("pools", "[key]"), ("machine_types", "[key]"), ("bare_metal",), *pools, *types, *hosts)


def _no_kind(environment: Environment, at: Location, known: Mapping[str, CapacityKind]) -> Fault:
    """Return the fault of an unknown kind. Often it is a pool's name."""
    name, basis = str(at[-1]), _machines(environment)
    kind = pool_kinds(environment).get(name)
    if kind is not None:
        return Fault(at=at, wrong=f"{name!r} is a pool, of the kind {kind}", write=kind, basis=basis)
    wrong = f"neither a pool nor a host is of the kind {name!r}"
    return Fault(at=at, wrong=wrong, write=suggestion(known, name), basis=basis)


def _check_share(at: Location, share: Share, kind: CapacityKind, *, basis: tuple[Location, ...]) -> Iterator[Fault]:
    if share.gpus and not kind.gpus:
        wrong, write = f"machines of the kind {kind.name} have no GPUs", "`cores`, or another kind"
        yield Fault(at=(*at, "gpus"), wrong=wrong, write=write, basis=basis)
    elif share.gpus and share.cores is None and kind.cores_each is None:
        wrong = "nobody declares how many cores a host has"
        yield Fault(at=(*at, "cores"), wrong=wrong, write="the number of cores", basis=(*basis, (*at, "gpus")))
    guaranteed = share.gpus if kind.gpus else share.cores or 0
    if share.lend is not None and share.lend > guaranteed:
        wrong = f"{share.lend} are more than the guarantee, {guaranteed}"
        yield Fault(at=(*at, "lend"), wrong=wrong, write=f"at most {guaranteed}", basis=((*at, "gpus"), (*at, "cores")))


def _check_total(environment: Environment, kind: CapacityKind) -> Iterator[Fault]:
    """Yield a fault when teams together are guaranteed more of a kind than there can be."""
    shares = {name: team.shares[kind.name] for name, team in environment.teams.items() if kind.name in team.shares}
    gpus = {name: share.gpus for name, share in shares.items()}
    cores = {name: kind.cores_of(share) for name, share in shares.items()}
    for field, each, most in (("gpus", gpus, kind.gpus), ("cores", cores, kind.cores)):
        total = sum(each.values())
        if most is None or total <= most or (field == "gpus" and not kind.gpus):
            continue
        last = next(name for name in reversed(each) if each[name])
        follow = field == "cores" and any(share.gpus and share.cores is None for share in shares.values())
        each_gpu = f" ({kind.cores_each} for each GPU, the most of any of its machine types)" if follow else ""
        wrong = (
            f"teams are guaranteed {total:,} {field} of {kind.name} together{each_gpu}, and {', '.join(kind.sources)} "
            f"have at most {most:,}: {', '.join(f'{name} {number:,}' for name, number in each.items() if number)}"
        )
        named = "gpus" if shares[last].cores is None and kind.gpus else field
        basis = (*(("teams", name, "shares", kind.name) for name in shares), *_machines(environment))
        write = f"{most:,} {field} together at most, or larger pools"
        if follow:
            write = f"`cores` beside `gpus`: {most:,} together at most"
        yield Fault(at=("teams", last, "shares", kind.name, named), wrong=wrong, write=write, basis=basis)
        return


def _check_taints(environment: Environment, kind: CapacityKind) -> Iterator[Fault]:
    used = any(kind.name in team.shares for team in environment.teams.values())
    if used and len(kind.taints) > TOLERATIONS:
        wrong = f"pools of the kind {kind.name} have {len(kind.taints)} taints together, and a queue tolerates 8"
        yield Fault(at=("pools", kind.sources[0], "taints"), wrong=wrong, write="fewer", basis=(("teams",),))
