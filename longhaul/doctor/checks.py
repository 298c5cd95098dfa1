"""The list of checks for an environment."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from clouds.base.doctor import DoctorQuestion
from clouds.base.findings import Finding, unknown
from clouds.base.local_machine import LocalMachine
from clouds.registry import clouds
from longhaul.doctor import control_plane_size, engine_state, hosts, recovery, this_machine
from longhaul.doctor.check_names import NAMES
from longhaul.doctor.target import DoctorTarget

NOT_IN_A_LAB = ("permissions", "registrations", "quotas", "machine-types", "images")
"""Checks that a lab's stand-ins for the clouds do not answer, or answer differently (docs/lab-differences.md)."""

ASKING = ("dns", "clock", "credentials", "addresses", "existing", *NOT_IN_A_LAB)
"""Checks that ask something outside this machine."""


def checks(target: DoctorTarget, here: LocalMachine, *, only: tuple[str, ...] = ()) -> tuple[DoctorQuestion, ...]:
    """Return all checks, or the checks named in ``only``, in the order of the report."""
    questions = (*_of_clouds(target, here), *_here(target, here))
    chosen = [_of_a_lab(check) if target.lab else check for check in questions if not only or check.name in only]
    return tuple(sorted(chosen, key=lambda check: NAMES.index(check.name)))


def _of_a_lab(check: DoctorQuestion) -> DoctorQuestion:
    if check.name not in NOT_IN_A_LAB:
        return check
    finding = unknown("not asked: a lab's stand-ins for the clouds do not answer this", *check.where)
    return DoctorQuestion(name=check.name, where=check.where, run=lambda: (finding,))


def _of_clouds(target: DoctorTarget, here: LocalMachine) -> Iterator[DoctorQuestion]:
    """Yield the questions of each cloud's doctor."""
    for kind, cloud in clouds().items():
        share = target.share(kind, here)
        if share.places:
            yield from cloud.doctor.questions(share)


def _here(target: DoctorTarget, here: LocalMachine) -> Iterator[DoctorQuestion]:
    """Yield the checks that belong to no cloud."""
    local: tuple[tuple[str, Callable[[DoctorTarget], Iterable[Finding]]], ...] = (
        ("plugins", lambda target: target.plugins),
        ("state", engine_state.backend),
        ("state", engine_state.encryption),
        ("hosts", hosts.hosts),
        ("size", control_plane_size.size),
        ("recovery", recovery.declared),
        ("recovery", recovery.newest),
    )
    for name, look in local:
        yield DoctorQuestion(name=name, where=(target.file,), run=partial(look, target))
    yield DoctorQuestion(name="dns", where=("this machine",), run=partial(this_machine.dns, target, here))
