"""Losses and result of a restore, as text and for programs. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from contract.documents.restore import Step
from longhaul.etcd_backups.choice import highest_revision, is_plausible
from longhaul.restore.machine_states import ObservedPlane
from longhaul.terminal.ages import age
from longhaul.vault.restore_record import UnfinishedRestore

if TYPE_CHECKING:
    from components.model import Role
    from longhaul.etcd_backups.listing import ListedBackup


def loss_text(half: UnfinishedRestore, backups: Mapping[Role, ListedBackup], observed: ObservedPlane) -> str:
    """Return text about what is lost and what will be done, for the confirmation."""
    lines = []
    for role, backup in backups.items():
        lines += [
            f"{role}: {_quorum(role, observed)}",
            f"  restored from {backup.name}",
            f"  made {backup.made:%Y-%m-%d %H:%M:%S}Z, {age(backup.age_s)} ago, by {backup.member}: revision "
            f"{backup.revision}, {backup.keys} keys",
            f"  LOST: {_lost(role, backup, observed, half)}",
            f"  its revisions continue {half.clusters[str(role)].bump} higher, above any revision that a client "
            "has seen",
            f"  its members keep their present data in the folder etcd-aside-{half.id} beside it",
        ]
    lines.append("The API servers are stopped meanwhile. Pods on nodes keep running.")
    return "\n".join(lines)


def _quorum(role: Role, observed: ObservedPlane) -> str:
    those = observed.members[role]
    answering = sum(member.revision > 0 for member in those)
    if any(member.quorum for member in those):
        return f"it has a quorum, {answering} of {len(those)} members answer"
    return f"its quorum is lost, {answering} of {len(those)} members answer"


def _lost(role: Role, backup: ListedBackup, observed: ObservedPlane, half: UnfinishedRestore) -> str:
    behind = revisions_lost(role, backup, observed, half)
    since = f"all that was written in the {age(backup.age_s)} since then"
    if behind is None:
        return f"{since}; no member reports how much that is"
    name, newest = _newest(role, backup, observed)
    return f"{since}: at least {behind} revisions, since {name} has revision {newest}"


def _newest(role: Role, backup: ListedBackup, observed: ObservedPlane) -> tuple[str, int]:
    """Return the member or backup with the newest known revision, and the revision; 0 when none is as new as the
    backup."""
    best = highest_revision(backup, observed.backups)
    revisions = {**observed.revisions(role), **({best.name: best.revision} if best.revision > backup.revision else {})}
    known = {
        name: revision
        for name, revision in revisions.items()
        if revision >= backup.revision and is_plausible(revision, backup)
    }
    return max(known.items(), key=lambda entry: entry[1], default=("", 0))


def revisions_lost(role: Role, backup: ListedBackup, observed: ObservedPlane, half: UnfinishedRestore) -> int | None:
    """Return the number of revisions known to be lost. Return None when no member and no other backup is as new as
    ``backup``, or when a restored member has started, since that member reports new revisions."""
    if any(member.at(half.id) >= Step.STARTED for member in observed.members[role]):
        return None
    _, newest = _newest(role, backup, observed)
    return newest - backup.revision if newest else None


def document(
    half: UnfinishedRestore,
    backups: Mapping[Role, ListedBackup],
    observed: ObservedPlane,
    clusters: Mapping[Role, str],
    asides: Mapping[str, Sequence[str]],
) -> dict[str, Any]:
    """Return the result for programs. ``asides`` are the folders set aside on each member."""
    return {
        "id": half.id,
        "etcd_clusters": {
            str(role): {
                "backup": backup.name,
                "made": backup.made.isoformat(),
                "age_s": backup.age_s,
                "revision": backup.revision,
                "keys": backup.keys,
                "revisions_lost": revisions_lost(role, backup, observed, half),
                "first_revision": backup.revision + half.clusters[str(role)].bump,
                "cluster": clusters.get(role, ""),
            }
            for role, backup in backups.items()
        },
        "asides": dict(asides),
    }
