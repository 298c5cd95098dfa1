"""Messages of a decision to pods and gangs that wait and will have room, and the number of pods that wait by reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime

from clouds.base.phrases import counted
from contract.reasons.autoscaler import WaitReason
from services.autoscaler.cluster_snapshot import Gang, PendingPod
from services.autoscaler.placement import Placer
from services.autoscaler.pod_demand import GangDemand, names_text
from services.autoscaler.pool_assessment import PoolAssessment
from services.autoscaler.refusal_backoff import format_duration
from services.autoscaler.scaling_actions import ScalingAction, Verb
from services.autoscaler.shortage_reasons import unknown_demands


def grants(placer: Placer) -> Iterator[ScalingAction]:
    """Yield the messages to requests of gangs that have room."""
    for seated in placer.seated:
        gang = seated.gang.gang
        if gang.request and not gang.granted:
            count = counted(len(seated.rooms), "node")
            if seated.waits:
                verb, reason = Verb.TELL, WaitReason.MACHINES_REQUESTED
                message = f"it has room as soon as {seated.waits} of {count} are ready"
            elif seated.ending:
                verb, reason = Verb.TELL, WaitReason.PODS_ENDING
                message = f"it has room as soon as pods that are being ended are gone from {seated.ending} of {count}"
            else:
                verb, reason = Verb.GRANT, WaitReason.GANG_FITS
                message = f"all {seated.gang.count} members have room on {count}"
            yield ScalingAction(verb=verb, target=gang.name, reason=reason, message=message)


def unreadable(gangs: Iterable[Gang], demands: Iterable[GangDemand]) -> Iterator[ScalingAction]:
    """Yield the messages to gangs with unsupported demands and without any known member."""
    known = {demand.gang.name for demand in demands}
    for gang in gangs:
        if gang.unknown and gang.name not in known:
            obstacle = unknown_demands(gang.unknown)
            yield ScalingAction(verb=Verb.TELL, target=gang.name, reason=obstacle.reason, message=obstacle.message)


def coming(placer: Placer, groups: PoolAssessment, now: datetime) -> Iterator[ScalingAction]:
    """Yield the messages to pods that wait for machines from earlier requests."""
    names = {f"{group.name}+": (pool, group) for pool in groups.pools.values() for group in pool.groups}
    waiting: dict[str, list[str]] = {}
    for placed in placer.placed:
        prefix = placed.node[: placed.node.rfind("+") + 1]
        if prefix in names and not placed.gang:
            pool, group = names[prefix]
            if int(placed.node[len(prefix) :]) <= group.present:
                waiting.setdefault(prefix, []).extend(placed.pods)
    for prefix, pods in waiting.items():
        pool, group = names[prefix]
        ago = format_duration(now - groups.asked[group.name]) if group.name in groups.asked else "a while"
        many = (
            f"{group.coming} {pool.pool.machine_type}" if pool.pool.machine_type else counted(group.coming, "machine")
        )
        message = f"asked {pool.pool.region or pool.pool.site} for {many} {ago} ago"
        yield _message(pods, WaitReason.MACHINES_REQUESTED, message)


def ending(placer: Placer) -> Iterator[ScalingAction]:
    """Yield the messages to pods for which other pods make room that are being ended."""
    waiting: dict[str, list[str]] = {}
    for placed in placer.placed:
        if placed.ending and not placed.gang:
            waiting.setdefault(placed.node, []).extend(placed.pods)
    for node, pods in waiting.items():
        message = f"it has room on {node} as soon as pods that are being ended are gone"
        yield _message(pods, WaitReason.PODS_ENDING, message)


def _message(pods: Iterable[str], reason: WaitReason, message: str) -> ScalingAction:
    """Return a message to pods, with the first of them as its target."""
    names = tuple(sorted(pods))
    return ScalingAction(verb=Verb.TELL, target=names_text(names[:1]), reason=reason, message=message, pods=names)


def waits(pods: Iterable[PendingPod], actions: Iterable[ScalingAction], placer: Placer) -> Counter[WaitReason]:
    """Return the number of pods that wait, by their reasons."""
    reasons: dict[str, WaitReason] = {}
    for placed in placer.placed:
        # The name of a machine that is to become a node ends with its number.
        reason = WaitReason.MACHINES_REQUESTED if "+" in placed.node else WaitReason.FITS_NODE
        reasons |= dict.fromkeys(placed.pods, WaitReason.PODS_ENDING if placed.ending else reason)
    for action in actions:
        if action.verb is Verb.TELL and isinstance(action.reason, WaitReason):
            reasons |= dict.fromkeys(action.pods, action.reason)
    return Counter(reasons.get(pod.id, WaitReason.FITS_NODE) for pod in pods)
