"""Record of an environment's restore in its vault, so that the next run continues it and ``longhaul up`` waits.

Only officers write to the vault, so no machine can begin, change or end a restore.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from clouds.base.errors import CloudError
from clouds.registry import cloud_of
from components.model.secrets.vault import etcd_state_secret, vault_name
from components.model.sites.places import place_of
from contract.documents import etcd_state
from contract.documents.etcd_state import EXISTING, RecordedCluster
from longhaul.terminal.exits import CommandError, Exit

if TYPE_CHECKING:
    from clouds.base.control import ControlAccess
    from clouds.base.place import Place
    from components.model import Environment, Role

SECRET = "restore"  # noqa: S105  (the name of a secret, not its value)


class RestoreState(StrEnum):
    """State of a restore."""

    RUNNING = "running"
    PAUSED = "paused"
    """It waits for machines that `longhaul up` has to make."""
    DONE = "done"


@dataclass(frozen=True, kw_only=True)
class RestoreChoice:
    """Backup from which an etcd cluster is restored."""

    backup: str
    """Class and name of the backup."""
    bump: int
    """Number of revisions by which the etcd cluster is ahead of the backup."""


@dataclass(frozen=True, kw_only=True)
class UnfinishedRestore:
    """A restore that was begun, and may be done."""

    id: str
    state: RestoreState
    clusters: Mapping[str, RestoreChoice] = field(default_factory=dict)
    """Backups by name of the etcd cluster."""
    revisions: Mapping[str, int] = field(default_factory=dict)
    """Highest revision with which any restore began, by name of the etcd cluster: a later restore begins above it."""
    although_healthy: bool = False
    """True when it replaces an etcd cluster that has a quorum."""


@dataclass(frozen=True, kw_only=True)
class RestoreRecords:
    """The part of an environment's vault that stores its restore."""

    control: ControlAccess[Any]
    place: Place[Any]
    environment: Environment

    def last(self) -> UnfinishedRestore | None:
        """Return the last restore, done or not; None without a restore."""
        text = self._get(SECRET)
        if text is None:
            return None
        try:
            raw = json.loads(text)
            clusters = {name: RestoreChoice(**choice) for name, choice in raw["clusters"].items()}
            revisions = {name: int(revision) for name, revision in raw["revisions"].items()}
            return UnfinishedRestore(
                id=str(raw["id"]),
                state=RestoreState(raw["state"]),
                clusters=clusters,
                revisions=revisions,
                although_healthy=bool(raw.get("although_healthy", False)),
            )
        except (ValueError, KeyError, TypeError, AttributeError):
            raise CommandError(f"the vault's secret {SECRET} cannot be read: look at it, and delete it") from None

    def write(self, half: UnfinishedRestore) -> None:
        """Record a restore."""
        self._set(SECRET, json.dumps(asdict(half)))

    def set_cluster(self, role: Role, cluster: str) -> None:
        """Record the id of an etcd cluster: members without data join only the cluster with this id."""
        name = etcd_state_secret(role)
        try:
            known = etcd_state.of_text(self._get(name) or "{}")
        except (AttributeError, TypeError, ValueError):
            known = RecordedCluster(state="")
        wanted = replace(known, state=EXISTING, cluster=cluster)
        if known != wanted:
            self._set(name, wanted.to_text())

    def _get(self, name: str) -> str | None:
        try:
            return self.control.secret(self.place, vault_name(self.environment), name)
        except CloudError as error:
            code = Exit.FAILED if error.answered and error.passing else Exit.UNREACHABLE
            raise CommandError(f"the vault's secret {name} cannot be read: {error}", code=code) from None

    def _set(self, name: str, text: str) -> None:
        try:
            self.control.set_secret(self.place, vault_name(self.environment), name, text)
        except CloudError as error:
            raise CommandError(f"the vault's secret {name} cannot be written: {error}") from None


def refuse_half_restored(environment: Environment) -> None:
    """Refuse to go on while a restore is unfinished: machines that are replaced meanwhile would lose its data. A vault
    that does not exist or has no access rights yet, as during a first `up`, does not refuse. A damaged record does, and
    so does a vault that only now cannot answer."""
    if environment.backups is None:
        return
    place = place_of(environment, environment.control_plane.site)
    control = cloud_of(place.site).control
    if control is None:
        return
    try:
        record = RestoreRecords(control=control, place=place, environment=environment).last()
    except CommandError as error:
        if error.code is Exit.UNREACHABLE:
            return
        raise
    if record is not None and record.state is RestoreState.RUNNING:
        raise CommandError(
            f"a restore of {', '.join(record.clusters)} is incomplete (its id is {record.id}), so nothing was done: "
            f"`longhaul restore --env {environment.name} --key KEYFILE` continues it, and `longhaul restore --env "
            f"{environment.name} --give-up` ends it while no member has new data",
            code=Exit.REFUSED,
        )
