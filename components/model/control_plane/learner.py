"""Checks of the learner of the main etcd cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from clouds.base.faults import Caution, Fault, Location
from clouds.base.phrases import suggestion, word_list
from clouds.base.site import ZONES
from clouds.registry import cloud_of
from components.model.control_plane.etcd import EtcdLearner
from components.model.control_plane.machines import MOST_MEMBERS, Role, zone_of
from components.model.environment import Environment
from components.model.network.address_plan import machine_capacity, plan
from components.model.network.site_ranges import plan_errors
from contract.reasons.plan import FileReason

AT: Location = ("control_plane", "etcd", "learner")


def check_learner(environment: Environment) -> Iterator[Fault]:
    """Yield a fault for a zone that the learner's site does not have, and for a site that has no address for the
    learner."""
    control = environment.control_plane
    learner, site = control.etcd.learner, environment.sites.get(control.site)
    if learner is None or site is None or not cloud_of(site).holds_control_plane:
        return
    zones: Location = ("sites", control.site, "zones")
    if learner.zone not in site.zones:
        wrong = f"{learner.zone!r} is not a zone of {control.site}, and its disk exists only in zones"
        yield Fault(
            at=(*AT, "zone"),
            wrong=wrong,
            write=suggestion(site.zones, learner.zone),
            basis=(("control_plane", "site"), zones, *((*zones, index) for index in range(ZONES))),
        )
    if not plan_errors(environment):
        subnet = plan(environment).sites[control.site].subnet(Role.ETCD)
        if machine_capacity(subnet) <= MOST_MEMBERS:
            wrong = f"it has no address in {subnet}, the etcd subnet of {control.site}, beside {MOST_MEMBERS} members"
            yield Fault(
                at=AT, wrong=wrong, write=f"a larger block for {control.site}", basis=(("supernet",), ("sites",))
            )


def learner_cautions(environment: Environment) -> Iterator[Caution]:
    """Yield cautions about a learner from which nothing can be restored, or which is too small or in an unsuitable
    zone."""
    learner = environment.control_plane.etcd.learner
    if learner is None:
        return
    if environment.backups is None:
        yield Caution(
            reason=FileReason.LEARNER_WITHOUT_BACKUPS,
            at=AT,
            basis=(("backups",),),
            wrong="without backups nothing can be restored from it: its data is saved as a backup",
            write="backups as well (docs/backups.md), or no learner",
        )
    yield from _memory(environment, learner)
    yield from _zone(environment, learner)


def _memory(environment: Environment, learner: EtcdLearner) -> Iterator[Caution]:
    """Yield a caution when the learner's machine has less memory than the voting members': the learner holds the same
    database."""
    etcd, known = environment.control_plane.etcd, environment.known_types
    machine_type, members = known.get(learner.machine_type), known.get(etcd.machine_type)
    if machine_type is not None and members is not None and machine_type.memory_gib < members.memory_gib:
        yield Caution(
            reason=FileReason.LEARNER_MEMORY,
            at=(*AT, "machine_type"),
            basis=(("control_plane", "etcd", "machine_type"), ("machine_types",)),
            wrong=f"{learner.machine_type} has {machine_type.memory_gib:,} GiB of memory, and the voting members have "
            f"{members.memory_gib:,}",
            write=f"a type with {members.memory_gib:,} GiB or more: it holds the same database",
        )


def _zone(environment: Environment, learner: EtcdLearner) -> Iterator[Caution]:
    """Yield a caution when another zone holds fewer voting members: with the learner there, the loss of its zone would
    take fewer members too."""
    etcd, site = environment.control_plane.etcd, environment.sites.get(environment.control_plane.site)
    if site is None or not site.zones:
        return
    votes = Counter(zone_of(site.zones, index) for index in range(etcd.members))
    here, fewest = votes[learner.zone], min(votes[zone] for zone in site.zones)
    if here > fewest:
        better = [zone for zone in site.zones if votes[zone] == fewest]
        yield Caution(
            reason=FileReason.LEARNER_ZONE,
            at=(*AT, "zone"),
            basis=(("control_plane", "etcd", "members"),),
            wrong=f"zone {learner.zone} has {here} voting members, and {word_list(better)} only {fewest}",
            write=f"{word_list(better)}: the loss of a zone then takes fewer members with it",
        )
