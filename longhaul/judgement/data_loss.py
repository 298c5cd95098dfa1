"""Refuses changes that lose data: a resource that cannot be made again is destroyed or replaced."""

from __future__ import annotations

from collections.abc import Iterator

from clouds.base.findings import Severity
from clouds.base.phrases import counted
from clouds.base.resource_types import ResourceKind, without_version
from clouds.registry import clouds
from contract.reasons.plan import PlanReason
from longhaul.judgement.case import Case
from longhaul.judgement.changes import Change, ResourceAction
from longhaul.judgement.finding import PlanFinding
from longhaul.judgement.resource_kinds import kind_of

GONE = (ResourceAction.DESTROY, ResourceAction.REPLACE)


_LOST: dict[ResourceKind, tuple[str, str]] = {
    ResourceKind.VAULT: (
        "Every private key of the environment is in it, and the name of a deleted vault stays reserved for its "
        "retention.",
        "Undo the change: a vault's name, place and tenant are fixed for the environment's life.",
    ),
    ResourceKind.AUTHORITY: (
        "Its key signs every certificate below it: members and servers refuse each other until all machines have "
        "fetched new ones, up to fifteen minutes (docs/certificates.md).",
        "Undo the change. If the key is lost or stolen, replace only that authority (docs/certificates.md).",
    ),
    ResourceKind.KEY: (
        "It encrypts Secrets at rest, or signs tokens, or records that an etcd cluster exists.",
        "Undo the change: the vault's copy is the only one.",
    ),
    ResourceKind.DATA: (
        "Its contents, snapshots or state, are lost with it.",
        "Copy its contents first, or remove the resource from the state without deleting it (`pulumi state delete`).",
    ),
    ResourceKind.GUARD: (
        "It stands for the whole environment: it is removed first when everything is destroyed.",
        "Use `longhaul destroy`, which asks, for environments whose file says `destroyable: true`.",
    ),
    ResourceKind.GROUP: (
        "Azure deletes everything in a group with it, the vault and both etcd clusters in the control plane's.",
        "Undo the change of the site's name, region or subscription; make a new site beside it and move there.",
    ),
}


def lost_resources(case: Case) -> Iterator[PlanFinding]:
    """Yield findings about destroyed or replaced resources that cannot be made again."""
    for kind, (why, do) in _LOST.items():
        for action in GONE:
            lost = [change for change in case.changes if kind_of(change) is kind and change.action is action]
            if kind is ResourceKind.GROUP:
                lost = [change for change in lost if case.places.of(change).site in case.after.sites]
            if action is ResourceAction.DESTROY and case.after.control_plane.etcd.learner is None:
                lost = [change for change in lost if not _is_learners(change)]
            if lost:
                verb = "destroyed" if action is ResourceAction.DESTROY else "replaced"
                yield PlanFinding(
                    severity=Severity.PROBLEM,
                    reason=PlanReason.IRREPLACEABLE_LOST,
                    what=f"{counted(len(lost), kind.value).capitalize()} would be {verb}.",
                    where=tuple(change.name for change in lost),
                    why=why,
                    do=do,
                )


def _is_learners(change: Change) -> bool:
    """Return whether the resource is the learner's disk, which is removed when the file drops the learner."""
    lasting = (cloud.resources.lasting().get(without_version(change.type)) for cloud in clouds().values())
    return any(resource is not None and resource.with_learner for resource in lasting)
